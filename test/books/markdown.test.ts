import { describe, expect, test } from "vitest"
import { type Book, findBookProblems, findDifferences, findPageProblems, readBook } from "../../scripts/books/books.ts"
import { readMarkdown } from "../../scripts/books/markdown.ts"
import { findChapter } from "../../scripts/course/manifest.ts"

const FILE = "s01_state/README.md"
const SCRIPT = "npm run docs"

/** What is wrong with a document, each with its line. */
const judge = (text: string): string[] =>
  findPageProblems({ file: FILE, text }).map(({ line, message }) => `${line}: ${message}`)

describe("in any document a fault is found, and what only looks like it is not", () => {
  test.each<[string, string, string[], string]>([
    [
      "a second command on a line",
      `\`${SCRIPT}\`, \`npm run dance\``,
      ['1: there is no script "dance"'],
      `\`${SCRIPT}\`, \`npm run check\``,
    ],
    [
      "a second file on a line of a block",
      "```sh\nnpx tsx s01_state/code.ts; npx tsx s99_moon/code.ts\n```",
      ["2: there is no file s99_moon/code.ts"],
      "```sh\nnpx tsx s01_state/code.ts; npx tsx s02_tools/code.ts\n```",
    ],
    ["a command that is wrapped", "Type `npm run\ndance`.", ['1: there is no script "dance"'], "Type `npm run\ndocs`."],
    [
      "a command in a block inside a list",
      `- \`${SCRIPT}\`, or\n\n  \`\`\`sh\n  npm run docs && npm run dance\n  \`\`\``,
      ['4: there is no script "dance"'],
      `- \`${SCRIPT}\`, or\n\n  \`\`\`sh\n  npm run docs && npm run check\n  \`\`\``,
    ],
    ["a link with a title", '[x](no.md "there")', ["1: the link no.md leads nowhere"], '[x](../README.md "there")'],
    ["a link in pointed brackets", "[x](<no way.md>)", ["1: the link no way.md leads nowhere"], "[x](<README.md>)"],
    ["a link over two lines", "a [x\ny](\nno.md)", ["1: the link no.md leads nowhere"], "a [x\ny](\nREADME.md)"],
    [
      "a reference",
      "[x][there] and ![y][there]\n\n[there]: no.md",
      ["3: the link no.md leads nowhere"],
      "[x][there] and ![y][there]\n\n[there]: README.md",
    ],
    [
      "a reference that nothing defines",
      "a\n[x][there], [^1]",
      ["2: nothing says where [x][there] leads", "2: nothing says where [^1] leads"],
      "a\n\\[x\\]\\[there\\], \\[^1], `[x][there]`, a [^2]\n- [x] b\n\n[^2]: c",
    ],
    [
      "a link in HTML",
      "a <a class=b href='no.md'>x</a>",
      ["1: the link no.md leads nowhere"],
      "a <a class=b href='README.md'>x</a>, `<a href='no.md'>`",
    ],
    [
      "an image in a block of HTML",
      '<p>\n\t<img alt="x" src="no.png">\n</p>',
      ["2: the link no.png leads nowhere"],
      '<p>\n\t<img alt="x" src="code.ts">\n</p>\n\n<!-- <a href="no.md">x</a> [x](no.md) -->',
    ],
    [
      "a link in a cell, next to an escaped bar",
      '| a |\n| - |\n| b \\| [x](no.md "y") |',
      ["3: the link no.md leads nowhere"],
      '| a |\n| - |\n| b \\| [x](README.md "y") |',
    ],
    [
      "code that looks like a link",
      "1. a\n\n   [x](no.md)",
      ["3: the link no.md leads nowhere"],
      "a\n\n    [x](no.md)\n\n~~~~\n```\n[x](no.md)\n~~~~\n\n\\[x](no.md) ``[x](`no.md)``",
    ],
    [
      "a link that leaves the repository",
      "[x](../../)",
      ["1: the link ../../ leads out of the repository"],
      "[x](../) [y](https://example.com/no.md) <https://example.com> [z](mailto:a@example.com)",
    ],
    ["a link to nothing", "[x]()", ["1: the link () leads nowhere"], "[x](#x)\n\n# x"],
    [
      "a heading that is a line of code",
      "```sh\n# there\n```\n[x](#there)",
      ["4: s01_state/README.md has no heading #there"],
      "```sh\n# there\n```\n[x](#there)\n# there",
    ],
    [
      "the anchor of a heading that stands there more than once",
      "# Same\n# Same\n[x](#same-2)",
      ["3: s01_state/README.md has no heading #same-2"],
      "# Same\n# Same\n[x](#same) [y](#same-1)",
    ],
    [
      "the anchor of a Chinese heading",
      "## 问题：`a` 和 **b**？\n[x](#问题：a-和-b)",
      ["2: s01_state/README.md has no heading #问题：a-和-b"],
      "## 问题：`a` 和 **b**？\n[x](#问题a-和-b) [y](#%E9%97%AE%E9%A2%98a-%E5%92%8C-b)",
    ],
    [
      "the anchor of a heading that is underlined, quoted or closed",
      "Under\n===\n> ## Quoted\n\n## Closed ##\n[x](#under-) [y](#closed-)",
      ["6: s01_state/README.md has no heading #under-", "6: s01_state/README.md has no heading #closed-"],
      "Under\n===\n> ## Quoted\n\n## Closed ##\n[x](#under) [y](#quoted) [z](#closed)",
    ],
    [
      "an anchor that is set by hand",
      '`<a id="there">`\n[x](#there)',
      ["2: s01_state/README.md has no heading #there"],
      "<a class=b id='there'></a>\n<h3>Over there</h3>\n\n[x](#there) [y](#over-there)",
    ],
    [
      "a symbol of Pi in a cell",
      "| a |\n| - |\n| `packages/moon.ts#Moon` |",
      ["3: Pi 0.81.1 has no packages/moon.ts#Moon, as far as the list knows"],
      "| a |\n| - |\n| `packages/agent/src/types.ts#AgentState` |",
    ],
  ])("%s", (_name, wrong, problems, right) => {
    expect(judge(wrong)).toEqual(problems)
    expect(judge(right)).toEqual([])
  })
})

describe("in a book a fault is found, and what only looks like it is not", () => {
  /** A book with something put in front of its first section, and that place. */
  const planted = (language: Book["language"], text: string): [Book, number] => {
    const book = readBook(findChapter("s01"), language)
    const line = readMarkdown(book.text).headings.find(({ depth }) => depth === 2)?.line ?? 0
    const lines = book.text.split("\n")
    return [{ ...book, text: [...lines.slice(0, line - 1), text, "", ...lines.slice(line - 1)].join("\n") }, line - 1]
  }
  const judgeBook = (language: Book["language"], text: string): string[] => {
    const [book, before] = planted(language, text)
    return findBookProblems(book).map(({ line, message }) => `${line - before}: ${message}`)
  }
  const early = (line: number, word: string, chapter: string): string =>
    `${line}: "${word}" is a word of ${chapter} and comes too early`

  test.each<[string, Book["language"], string, string[], string]>([
    ["a word that is partly bold", "zh", "a\n**钩**子", [early(2, "钩子", "s05")], "a\n**钩** 子"],
    ["a word in escaped backticks", "zh", "\\`钩子\\`", [early(1, "钩子", "s05")], "`` `钩子` ``，`a\n钩子`"],
    [
      "a word over two lines",
      "en",
      "A session\ntree.",
      [early(1, "session tree", "s07")],
      "A session.&#10;`x`\n\nTree.",
    ],
    [
      "the second word of a line",
      "en",
      "a hook, a Hook",
      [early(1, "hook", "s05"), early(1, "Hook", "s05")],
      "Hooked.",
    ],
    ["a word in a block of HTML", "zh", "<p>\n钩子\n</p>", [early(2, "钩子", "s05")], "<!-- 钩子 -->"],
    [
      "a word in a quotation, and one in an address",
      "zh",
      '> a\n> [钩子](README.md "b")',
      [early(2, "钩子", "s05")],
      "> a\n> [b](https://example.com/钩子)\n\n[c]: https://example.com/钩子",
    ],
    ["a section that is underlined", "zh", "多了一节\n---", ['1: expected the section "问题" here'], "少了一节\n\n---"],
    [
      "a block that opens in a list",
      "zh",
      "- a\n  ```sh\n  npm test\n  ```",
      ['2: "  ```sh" opens no block of a book: expected ```ts, diff, text, sh or mermaid, not indented'],
      "```sh\n## 不是一节\n# 也不是题目\nnpm test\n```",
    ],
    [
      "a block that is indented",
      "zh",
      "a\n\n    b",
      ['3: "    b" opens no block of a book: expected ```ts, diff, text, sh or mermaid, not indented'],
      "- a\n\n    b",
    ],
    [
      "code whose mark is too far away",
      "zh",
      "<!-- code: Output -->\n\n```ts\nx\n```",
      ["3: a block of code without a mark that says where it comes from"],
      "<!-- code: Output -->\n```ts\nx\n```",
    ],
    ["a second title", "zh", "# s01", ["1: there is a title too many"], "\\# s01"],
  ])("%s", (_name, language, wrong, problems, right) => {
    expect(judgeBook(language, wrong)).toEqual(expect.arrayContaining(problems))
    expect(judgeBook(language, right)).toEqual([])
  })

  test.each<[string, string, string | undefined]>([
    ["a table without bars at its edges", "a | b\n--- | ---\n1 | 2", "row of 2"],
    ["a row with a cell more", "| a | b |\n| --- | --- |", "row of 2"],
    ["a line that begins with a bar", "| a", undefined],
    ["a heading that is underlined", "> a\n> ---", '"##"'],
    ["a block that begins with tildes", "~~~sh\nnpm test\n~~~", "block"],
    ["a comment in code", "`<!-- a -->`", undefined],
    ["a comment in a line", "a <!-- b -->", "<!-- b -->"],
  ])("%s that only one language has", (_name, text, part) => {
    const [chinese] = planted("zh", text)
    const message = findDifferences(readBook(findChapter("s01"), "en"), chinese)[0]?.message
    if (part === undefined) expect(message).toBeUndefined()
    else expect(message).toContain(part)
  })
})
