import fs from "node:fs"
import path from "node:path"
import { expect, test } from "vitest"
import { readMarkdown } from "../../scripts/books/markdown.ts"
import { ROOT } from "../support/ladder.ts"

/** Names and members of s12 in whose comments the word stands, and those that are functions around such a comment. */
function doorsOfCode(): string[] {
  const text = fs.readFileSync(path.join(ROOT, "s12_packages", "code.ts"), "utf8")
  const doors: string[] = []
  let owner = ""
  let member = ""
  let pending = false
  for (const line of text.slice(0, text.indexOf("// ── Demo")).split("\n")) {
    const declared = /^export (?:async )?(?:function|class|const|type|interface) (\w+)/.exec(line)?.[1]
    const method = /^ {2}(?:async )?(\w+)\(.*\{/.exec(line)?.[1]
    if (declared !== undefined) [owner, member] = [declared, ""]
    if (method !== undefined && !/^ {2}(?:if|for|while)\b/.test(line))
      member = method === "constructor" ? "" : `.${method}`
    if (pending && (declared !== undefined || method !== undefined)) doors.push(owner + member)
    if (declared !== undefined || method !== undefined) pending = false
    if (/\/\/ A door\b/.test(line)) doors.push(owner)
    else if (/\bA door\b/.test(line)) pending = true
  }
  return [...new Set(doors)].sort()
}

test.each(["EVOLUTION.md", "EVOLUTION.en.md"])("%s lists the doors that the code calls so, and no others", (file) => {
  const { rows } = readMarkdown(fs.readFileSync(path.join(ROOT, file), "utf8"))
  const doors = rows.filter(({ cells }) => cells.length === 5 && /^s\d\d$/.test(cells[1]?.text ?? ""))
  const listed = doors.map(({ cells }) => cells[0]?.text ?? "").sort()
  expect(listed.length).toBeGreaterThan(10)
  expect(listed).toEqual(doorsOfCode())
  // Whoever is said to check is there.
  const text = fs.readFileSync(path.join(ROOT, "s12_packages", "code.ts"), "utf8")
  for (const name of doors.flatMap(({ cells }) => cells[3]?.codes ?? [])) {
    expect(text).toMatch(new RegExp(`\\b${name}\\b`))
  }
})
