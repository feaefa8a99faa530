import fs from "node:fs"
import path from "node:path"
import ts from "typescript"
import { describe, expect, test } from "vitest"
import { ROOT } from "../../scripts/course/source.ts"

/** A sentence in the source that a reader may get, in the language that it is meant to be in. */
type Sentence = { place: string; language: "en" | "zh"; text: string }

/** The characters of a text as it stands in the source, without what is put in while the program runs. */
function wordsOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isTemplateExpression(node))
    return [node.head, ...node.templateSpans.map(({ literal }) => literal)].map(({ text }) => text).join("")
  return undefined
}

/** What stands side by side in two languages: objects with `en` or `zh`, and the two texts of a call of `say`. */
function pairsIn(file: string, text: string): { pairs: Sentence[]; halves: string[] } {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true)
  const pairs: Sentence[] = []
  const halves: string[] = []
  const placeOf = (node: ts.Node): string =>
    `${path.basename(file)}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
  const add = (node: ts.Node, language: "en" | "zh"): void => {
    const words = wordsOf(node)
    if (words !== undefined) pairs.push({ place: placeOf(node), language, text: words })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isObjectLiteralExpression(node)) {
      const fields = new Map(
        node.properties.flatMap((one) =>
          ts.isPropertyAssignment(one) ? [[one.name.getText(), one.initializer] as const] : [],
        ),
      )
      const [en, zh] = [fields.get("en"), fields.get("zh")]
      const isShort = node.properties.some(ts.isShorthandPropertyAssignment)
      if ((en === undefined) !== (zh === undefined) && !isShort) halves.push(placeOf(node))
      if (en !== undefined && zh !== undefined) {
        add(en, "en")
        add(zh, "zh")
      }
    }
    if (ts.isCallExpression(node) && /(?:^|[.#])say$/.test(node.expression.getText())) {
      const [en, zh] = node.arguments
      if (en === undefined || zh === undefined) halves.push(placeOf(node))
      else {
        add(en, "en")
        add(zh, "zh")
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return { pairs, halves }
}

/** What is wrong with a sentence in its language. A sentence without a letter is the same in both. */
function wrongIn({ language, text }: Sentence): boolean {
  const isChinese = /\p{Script=Han}/u.test(text)
  if (language === "en") return isChinese
  return !isChinese && /[a-z]{3}/i.test(text)
}

describe("what readers are told in two languages", () => {
  const files = fs
    .readdirSync(path.join(ROOT, "scripts"), { recursive: true, encoding: "utf8" })
    .filter((name) => /^(practice|lab|cli|course)[\\/].+\.ts$/.test(name))
    .map((name) => path.join(ROOT, "scripts", name))
  const found = files.map((file) => pairsIn(file, fs.readFileSync(file, "utf8")))

  test("stands side by side: no text has one language only", () => {
    expect(found.flatMap(({ halves }) => halves)).toEqual([])
    expect(found.flatMap(({ pairs }) => pairs).length).toBeGreaterThan(400)
  })

  test("is in the language that it is said to be in", () => {
    const wrong = found.flatMap(({ pairs }) => pairs).filter(wrongIn)
    expect(wrong).toEqual([])
  })

  test("would be found: a half, a text that nobody translated, two that are exchanged", () => {
    const odd = pairsIn("odd.ts", 'a({ en: "only" }); say("one"); b({ en: "word", zh: "word" }); say("字", "letter")')
    expect(odd.halves).toEqual(["odd.ts:1", "odd.ts:1"])
    expect(odd.pairs.filter(wrongIn).map(({ text }) => text)).toEqual(["word", "字", "letter"])
  })
})
