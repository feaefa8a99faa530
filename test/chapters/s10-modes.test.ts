import { describe, expect, test } from "vitest"
import { ask, call, recordOutput, say, tool } from "../support/driver.ts"
import { exportsItsParts, part } from "../support/ladder.ts"

const NASTY: [string, string][] = [
  ["switches the screen", "\u001b[?1049h"],
  ["sets the clipboard", "\u001b]52;c;ZXZpbA==\u0007"],
  ["makes a link", "\u001b]8;;http://x\u001b\\text\u001b]8;;\u001b\\"],
  ["overwrites with a carriage return", "safe\rgone"],
  ["uses eight-bit controls", "\u009b31m"],
  ["rings and erases", "\u0007\u0008\u007f\u0000"],
  ["turns the direction of writing", "\u202egnp.exe\u2066"],
]

part("s10", "Modes", (chapter) => {
  exportsItsParts("s10", chapter)

  test("shows the same loop to people and to programs", async () => {
    const shown = recordOutput()
    const json = recordOutput()
    for (const mode of [new chapter.core.PrintMode(shown), new chapter.core.JsonMode(json)]) {
      await chapter.run({
        mode,
        tools: [tool("echo", () => "line 1\nline 2")],
        replies: [ask(call("a")), say("finished")],
      })
    }
    expect(shown.lines).toEqual(["", "line 1", "line 2", "finished"])
    expect(json.lines.map((line) => JSON.parse(line))).toEqual([
      { type: "message", content: "" },
      { type: "message", content: "line 1\nline 2" },
      { type: "message", content: "finished" },
      { type: "done" },
    ])
  })

  test("B100, B102: failures and the limit are shown like everything else", async () => {
    const json = recordOutput()
    const mode = new chapter.core.JsonMode(json)
    await chapter.run({ mode, replies: [new Error("no line")] })
    await chapter.run({ mode, maxTurns: 1, tools: [tool()], replies: [ask(call("a"))] })
    expect(json.lines.map((line) => JSON.parse(line).content ?? "done!")).toEqual([
      "error: no line",
      "done!",
      "",
      "ok: a",
      "max turns reached",
      "done!",
    ])
  })

  test("events arrive while the turn runs, not after it", async () => {
    const seen: string[] = []
    const mode = { render: (events: { type: string }[]) => seen.push(...events.map((event) => event.type)) }
    const reply = () => {
      seen.push("request")
      return say("done")
    }
    await chapter.run({ mode: mode as never, tools: [tool()], replies: [ask(call("a")), reply] })
    expect(seen).toEqual(["message", "message", "request", "message", "done"])
  })

  test("prints what was said and nothing for the end of a turn", () => {
    const output = recordOutput()
    new chapter.core.PrintMode(output).render([
      { type: "message", content: "one" },
      { type: "done" },
      { type: "message", content: "two" },
    ])
    expect(output.lines).toEqual(["one", "two"])
  })

  test("prints through the output where no mode is given", async () => {
    const output = recordOutput()
    await chapter.run({ output, replies: [say("plain \u001b[31m")] })
    expect(output.lines).toEqual(["plain \\u{1b}[31m"])
  })

  describe("B98: print mode shows what would drive the terminal", () => {
    test.each(NASTY)("text that %s", async (_name, text) => {
      const output = recordOutput()
      const { history } = await chapter.run({ mode: new chapter.core.PrintMode(output), replies: [say(...text)] })
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(output.lines.join("\n")).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
      expect(output.lines.join("")).toContain("\\u{")
      expect(history.at(-1)?.content).toBe(text)
    })

    test("leaves tabs, line ends and other languages alone", () => {
      const output = recordOutput()
      new chapter.core.PrintMode(output).render([{ type: "message", content: "a\tb\r\n读 👩‍💻\nx" }])
      expect(output.lines).toEqual(["a\tb", "读 👩‍💻", "x"])
    })
  })

  test("B97: no line reader finds a line end inside a JSON line", async () => {
    const output = recordOutput()
    const text = "a\u2028b\u2029c\nd\re\u0085f"
    await chapter.run({
      mode: new chapter.core.JsonMode(output),
      tools: [tool("echo", () => text)],
      replies: [ask(call("a")), say("done")],
    })
    expect(output.lines.length).toBe(4)
    for (const line of output.lines) expect(line).not.toMatch(/[\n\r\u0085\u2028\u2029]/)
    expect(JSON.parse(output.lines[1] ?? "").content).toBe(text)
  })

  test("B97: the true text comes out of the line, whatever it holds", () => {
    for (const [, text] of [...NASTY, ["", '"quotes" \\ and \\u2028']]) {
      const output = recordOutput()
      new chapter.core.JsonMode(output).render([{ type: "message", content: text as string }])
      expect(JSON.parse(output.lines[0] ?? "")).toEqual({ type: "message", content: text })
    }
  })

  test("B95: a mode that throws or rejects does not harm the turn", async () => {
    const modes = [() => JSON.parse("{"), () => Promise.reject(new Error("closed"))]
    for (const render of modes) {
      const { history } = await chapter.run({
        mode: { render },
        tools: [tool()],
        replies: [ask(call("a")), say("done")],
      })
      expect(history.length).toBe(4)
    }
  })

  test("B95: a mode whose output fails does not harm the turn either", async () => {
    const outputs = [() => JSON.parse("{"), () => Promise.reject(new Error("closed"))]
    for (const log of outputs) {
      for (const mode of [new chapter.core.PrintMode({ log }), new chapter.core.JsonMode({ log })]) {
        const { last } = await chapter.run({ mode, replies: [say("done")] })
        expect(last.content).toBe("done")
      }
    }
  })
})
