import fs from "node:fs"
import path from "node:path"
import { describe, expect, test } from "vitest"
import { CHAPTERS } from "../../scripts/course/manifest.ts"
import { ROOT } from "../support/ladder.ts"

/** A row of a glossary. `chapter` is empty for a word that belongs to the tools around the course. */
type Row = { zh: string; en: string; code: string; chapter: string }

function readRows(file: string): Row[] {
  const lines = fs.readFileSync(path.join(ROOT, file), "utf8").split(/\r?\n/)
  const [head = "", , ...rows] = lines.filter((line) => line.startsWith("| "))
  const cellsOf = (line: string): string[] => line.split("|").map((cell) => cell.trim())
  const column = (name: RegExp): number => cellsOf(head).findIndex((cell) => name.test(cell))
  const [zh, en, code, chapter] = [/^(中文|Chinese)$/, /^English$/, /代码|code/, /^(章|Chapter)$/].map(column)
  return rows.map(cellsOf).map((cells) => ({
    zh: cells[zh as number] as string,
    en: cells[en as number] as string,
    code: cells[code as number] as string,
    chapter: /^\[(s\d\d)\]/.exec(cells[chapter as number] as string)?.[1] ?? "",
  }))
}

const [zh, en] = [readRows("GLOSSARY.md"), readRows("GLOSSARY.en.md")]

describe("the glossaries", () => {
  test("have the same words in both languages, each from the same chapter", () => {
    const inOrder = (rows: Row[]): string[] =>
      rows
        .map((row) =>
          Object.values(row)
            .join(" | ")
            .replace(/ 等| and others/, ""),
        )
        .sort()
    expect(zh.length).toBeGreaterThan(30)
    expect(inOrder(en)).toEqual(inOrder(zh))
  })

  test("are sorted as a reader looks things up: the Chinese one by chapter, the English one by its words", () => {
    const place = ({ chapter }: Row): number =>
      chapter === "" ? CHAPTERS.length : CHAPTERS.findIndex(({ id }) => id === chapter)
    expect(zh.map(place)).toEqual(zh.map(place).sort((a, b) => a - b))
    expect(en.map((row) => row.en)).toEqual(en.map((row) => row.en).sort((a, b) => a.localeCompare(b, "en")))
  })

  test("lead with the word of their own language", () => {
    const firstCell = (file: string): string | undefined =>
      /^\| ([^|]+?) \|/m.exec(fs.readFileSync(path.join(ROOT, file), "utf8"))?.[1]
    expect([firstCell("GLOSSARY.md"), firstCell("GLOSSARY.en.md")]).toEqual(["中文", "English"])
  })
})
