/** The page in a real browser. It is looked for in the usual places, or named by CHROMIUM; where there is none, these tests are left out. */
import fs from "node:fs"
import path from "node:path"
import { type Browser, chromium, type Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { buildPage } from "../../../app/page/build.ts"
import { PAGE } from "../../../app/server.ts"
import type { Provider } from "../../../s12_packages/code.ts"
import { DEEP } from "../../support/tier.ts"
import { TestServer } from "../server/client.ts"

const PLACES = [
  process.env.CHROMIUM ?? "",
  "/usr/bin/chromium",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
]
const executablePath = PLACES.find((place) => place !== "" && fs.existsSync(place))
if (DEEP && executablePath === undefined && process.env.BROWSER_TESTS === "required")
  throw new Error("the tests of the page need Chromium or Chrome: install one, or say in CHROMIUM where it is")

describe.runIf(DEEP && executablePath !== undefined)("the page", () => {
  let browser: Browser
  let page: Page
  let server: TestServer
  let complaints: string[] = []

  beforeAll(async () => {
    await buildPage()
    const args = [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
    ]
    browser = await chromium.launch({ executablePath: executablePath as string, args })
  })
  afterAll(() => browser?.close())

  /** Opens the page on a server of its own. */
  async function open(
    options: Parameters<typeof TestServer.start>[0] = {},
    context: Parameters<Browser["newContext"]>[0] = { locale: "en-US" },
  ): Promise<void> {
    server = await TestServer.start({ ...options, page: PAGE })
    page = await (await browser.newContext(context)).newPage()
    complaints = []
    page.on("pageerror", (error) => complaints.push(error.message))
    page.on(
      "console",
      (message) =>
        message.type() === "error" && !/ERR_|Failed to load/.test(message.text()) && complaints.push(message.text()),
    )
    await page.goto(server.url)
  }
  beforeEach(() => open())
  afterEach(async () => {
    await page.context().close()
    await server.end()
  })

  /** Sends words. It is sent when the server has answered. */
  const say = async (words: string): Promise<void> => {
    await page.getByRole("textbox").fill(words)
    const answered = page.waitForResponse("**/api/runs").catch(() => {})
    await page.getByRole("textbox").press("Enter")
    await answered
  }
  /** Waits until the run is over for the server, and the page has taken over what it says. */
  const over = async (): Promise<void> => {
    await expect.poll(async () => (await server.get("/api/session")).body.runId, { timeout: 60_000 }).toBeNull()
    const { length } = (await server.get("/api/session")).body.messages
    await expect.poll(() => page.locator("article").count(), { timeout: 60_000 }).toBe(length)
    await page.getByRole("button", { name: "Send" }).waitFor()
  }
  const conversation = () => page.getByRole("region", { name: "Conversation" })
  const tree = () => page.getByRole("region", { name: "Session tree" })

  test("holds a conversation that lists, reads and writes, and aligns with the server", async () => {
    await say("list files, read todo.md and write a note ideas.md: tea")
    await conversation().getByText("wrote 3 characters to notes/ideas.md").first().waitFor()
    await over()
    expect(await conversation().getByText("buy milk").count()).toBeGreaterThan(0)
    expect(await page.locator("article").count()).toBe((await server.get("/api/session")).body.messages.length)
    expect(await page.getByRole("region", { name: "Events" }).getByText("run_done").count()).toBe(1)
    expect(await page.getByRole("region", { name: "Tools" }).getByText("write_note").count()).toBe(1)
    expect(fs.readFileSync(path.join(server.folder, "project/workspace/notes/ideas.md"), "utf8")).toBe("tea")
    expect(complaints).toEqual([])
  })

  test("goes back to an entry of the tree, and the next prompt grows a branch there; a new session is empty", async () => {
    await say("hello")
    await over()
    await tree().getByRole("button").nth(1).click()
    await tree().locator('[aria-current="true"]').getByText("You: hello").waitFor()
    await say("list files")
    await conversation().getByText("todo.md").first().waitFor()
    await over()
    const { body } = await server.get("/api/session")
    expect(body.tree.filter(({ parentId }) => parentId === "entry_1")).toHaveLength(2)
    await tree().getByRole("button").first().click()
    await page.getByText("Nothing has been said yet").waitFor()
    await page.getByRole("button", { name: "New session" }).click()
    await expect.poll(() => tree().getByRole("button").count()).toBe(1)
  })

  test("asks before a note is replaced, shows the change, and can be answered by keyboard", async () => {
    await say("write a note n.md: one")
    await over()
    await say("write a note n.md: two")
    const question = page.getByRole("alertdialog")
    await question.getByText("+two").waitFor()
    await page.keyboard.press("Enter")
    await over()
    const note = (): string => fs.readFileSync(path.join(server.folder, "project/workspace/notes/n.md"), "utf8")
    expect(note()).toBe("one")
    await say("write a note n.md: two")
    await question.waitFor()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await over()
    expect(note()).toBe("two")
  })

  test("a reload in the middle of a run shows all of it", async () => {
    let finish = (): void => {}
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    const provider: Provider = {
      async *stream() {
        yield { type: "message_start" }
        yield { type: "text_delta", text: "the first half " }
        await gate
        yield { type: "text_delta", text: "and the second" }
        yield { type: "message_end", stopReason: "stop" }
      },
    }
    await page.context().close()
    await server.end()
    await open({ provider })
    await say("go")
    await conversation().getByText("the first half").waitFor()
    await page.reload()
    await conversation().getByText("the first half").waitFor()
    finish()
    await conversation().getByText("the first half and the second").waitFor()
    await over()
  })

  test("a server that goes away and comes back is told, and found again", async () => {
    await say("hello")
    await over()
    const { folder, url } = server
    await server.stop()
    await page.getByRole("textbox").fill("list files")
    await page.getByRole("textbox").press("Enter")
    await page.getByText("cannot be reached").waitFor()
    server = await TestServer.start({ folder, page: PAGE, port: Number(new URL(url).port) })
    await page.getByText("cannot be reached").waitFor({ state: "detached" })
    await say("list files")
    await conversation().getByText("todo.md").first().waitFor()
  })

  test("markup of a model stays text", async () => {
    const nasty = '<img src=x onerror="window.hit = 1"><script>window.hit = 2</script>'
    const provider: Provider = {
      async *stream() {
        yield { type: "text_delta", text: nasty }
        yield { type: "message_end", stopReason: "stop" }
      },
    }
    await page.context().close()
    await server.end()
    await open({ provider })
    await say(nasty)
    await over()
    expect(await conversation().getByText(nasty).count()).toBe(2)
    expect(await page.evaluate("window.hit")).toBeUndefined()
    expect(await page.locator("article img, article script").count()).toBe(0)
  })

  test("asks for trust once, and then has what the project brings", async () => {
    await page.getByRole("region", { name: "Tools" }).getByText("list_files").waitFor()
    const project = path.join(server.folder, "project")
    fs.mkdirSync(path.join(project, ".pi/packages"), { recursive: true })
    fs.writeFileSync(
      path.join(project, ".pi/packages/p.json"),
      JSON.stringify({
        manifest: { name: "p", tools: ["greet"], commands: [], resources: [] },
        contents: { greet: "Hello." },
      }),
    )
    expect(await page.getByRole("button", { name: "Trust this project" }).count()).toBe(0)
    await page.reload()
    await page.getByRole("button", { name: "Trust this project" }).click()
    await page.getByRole("region", { name: "Tools" }).getByText("greet").waitFor()
    await page.reload()
    await page.getByText("(trusted)").waitFor()
    expect(await page.getByRole("button", { name: "Trust this project" }).count()).toBe(0)
  })

  test("speaks Chinese to a Chinese browser, and fits a phone in the dark", async () => {
    await page.context().close()
    await server.end()
    await open({}, { locale: "zh-CN", colorScheme: "dark", viewport: { width: 360, height: 640 } })
    await page.getByRole("heading", { name: "会话树" }).waitFor()
    await page.getByRole("textbox").fill("列出文件")
    await page.getByRole("button", { name: "发送" }).click()
    await page.getByText("做完了").first().waitFor()
    expect(await page.evaluate("document.documentElement.lang")).toBe("zh")
    expect(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")).toBe(true)
    const dark = await page.evaluate(
      "getComputedStyle(document.documentElement).colorScheme + getComputedStyle(document.querySelector('article')).backgroundColor",
    )
    expect(dark).toMatch(/rgb\(29, 33, 38\)/)
  })
})
