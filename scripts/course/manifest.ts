import { InputError } from "./input-error.ts"
/**
 * The evolution of the program, as data. Each chapter lists the names it adds, the old declarations it is welded into, and the upgrades
 * it makes under U1. Checks, tests and tables read it; nothing about the growth of the chapters is written down anywhere else.
 */

/** A chapter's short name. */
export type ChapterId = "s01" | "s02" | "s03" | "s04" | "s05" | "s06" | "s07" | "s08" | "s09" | "s10" | "s11" | "s12"

/** A function or method of an earlier chapter whose text changes, because this chapter's part is joined in there. */
export type Weld = {
  /** `name` or `Class.member`. */
  name: string
  reason: string
  /** The same in Chinese; so for every name that ends in Zh. */
  reasonZh: string
  /** Parameters behind the old ones that it cannot do without, as written: old calls have to be changed for them. */
  requires?: readonly string[]
}

/** A breaking change that U1 allows. */
export type Upgrade = {
  rule: "U1"
  /** `Type.member`, by its old name. */
  name: string
  /** The member as written before and after, without a body. */
  from: string
  to: string
  reason: string
  reasonZh: string
}

/** What one chapter does to the program. */
export type Chapter = {
  id: ChapterId
  /** The chapter's folder below the root of the repository. */
  folder: string
  title: string
  titleZh: string
  /** Words of prose that this chapter introduces, as patterns; a book before it does not use them. */
  terms: { zh: readonly string[]; en: readonly string[] }
  /** Exported names that this chapter adds, in the order of the source. */
  parts: readonly string[]
  welds: readonly Weld[]
  upgrades: readonly Upgrade[]
  /**
   * What types and classes of earlier chapters gain, by their names: each field, union member or method as written, on one line, methods without
   * their bodies.
   */
  gains: Readonly<Record<string, readonly string[]>>
}

/** The twelve chapters, in order. */
export const CHAPTERS: readonly Chapter[] = [
  {
    id: "s01",
    folder: "s01_state",
    title: "State",
    titleZh: "状态",
    terms: { zh: [], en: [] },
    parts: [
      "StopReason",
      "UserMessage",
      "AssistantMessage",
      "AgentMessage",
      "AgentState",
      "ProviderMessage",
      "ProviderInput",
      "Provider",
      "Output",
      "TurnOptions",
      "describeError",
      "findProblem",
      "failMessage",
      "finishMessage",
      "toProviderMessage",
      "buildProviderInput",
      "requestMessage",
      "recordMessage",
      "runOneTurn",
    ],
    welds: [],
    upgrades: [],
    gains: {},
  },
  {
    id: "s02",
    folder: "s02_tools",
    title: "Tools",
    titleZh: "工具",
    terms: { zh: ["工具"], en: ["tools?"] },
    parts: ["ToolSpec", "ToolHandler", "Tool", "refuse", "expectString", "sealTexts", "sealTool", "ToolRegistry"],
    welds: [
      {
        name: "buildProviderInput",
        reason: "A request now tells the model which tools there are.",
        reasonZh: "请求里开始告诉模型有哪些工具。",
      },
      {
        name: "runOneTurn",
        reason: "It hands its options on, so that the registry reaches the request.",
        reasonZh: "把选项往下传，工具表才到得了请求里。",
      },
    ],
    upgrades: [],
    gains: {
      ProviderInput: ["tools: ToolSpec[]"],
      TurnOptions: ["registry?: ToolRegistry"],
    },
  },
  {
    id: "s03",
    folder: "s03_stream",
    title: "Stream",
    titleZh: "事件流",
    terms: { zh: ["事件流", "流式", "事件(?!循环)"], en: ["streams?", "streamed", "streaming"] },
    parts: ["ProviderEvent", "collectAssistantMessage"],
    welds: [
      {
        name: "requestMessage",
        reason: "The answer is collected from a stream instead of awaited in one piece.",
        reasonZh: "回答改为从事件流里收集，不再一次等到底。",
      },
    ],
    upgrades: [
      {
        rule: "U1",
        name: "Provider.complete",
        from: "complete(input: ProviderInput): Promise<AssistantMessage>",
        to: "stream(input: ProviderInput): AsyncGenerator<ProviderEvent>",
        reason:
          "One answer at the end cannot be turned into pieces on the way; the two forms cannot stand side by side.",
        reasonZh: "最后才给的一整个回答，拆不成途中一段段的内容；两种形态没法并存。",
      },
    ],
    gains: {},
  },
  {
    id: "s04",
    folder: "s04_toolloop",
    title: "Tool loop",
    titleZh: "工具循环",
    terms: { zh: ["工具调用", "工具循环", "配对"], en: ["tool calls?", "tool loop", "pairing"] },
    parts: [
      "ToolCall",
      "ToolResultMessage",
      "ToolExecutor",
      "DEFAULT_MAX_TURNS",
      "guard",
      "escapeControls",
      "runForText",
      "sealToolCall",
      "addToolCall",
      "addCalls",
      "toolResult",
      "errorResult",
      "checkMaxTurns",
      "assertUnique",
      "assertPairedToolCalls",
      "startToolCalls",
      "runEventedToolLoop",
    ],
    welds: [
      {
        name: "describeError",
        reason: "Tools are anybody's code, and anything can be thrown.",
        reasonZh: "工具是别人的代码，什么都可能抛出来。",
      },
      {
        name: "findProblem",
        reason: "A message with tool calls has more ways to be incomplete.",
        reasonZh: "带工具调用的消息，不完整的方式更多了。",
      },
      {
        name: "finishMessage",
        reason: "Whether a message is complete depends on its calls too.",
        reasonZh: "消息完不完整，也要看其中的调用。",
      },
      {
        name: "recordMessage",
        reason:
          "An output that fails must not part a call from its result, and what a tool has read must not drive a terminal.",
        reasonZh: "输出失败不能把调用和结果拆开；工具读到的内容不能操纵终端。",
      },
      {
        name: "runOneTurn",
        reason: "One request becomes a loop, and a turn that cannot begin leaves no trace.",
        reasonZh: "一次请求变成循环；开始不了的一轮不留痕迹。",
      },
      {
        name: "refuse",
        reason: "A tool may return a promise; one that is refused may still reject.",
        reasonZh: "工具可能返回 promise；拒收之后它仍可能 reject。",
      },
      {
        name: "collectAssistantMessage",
        reason: "Calls that arrive in the stream are collected beside the text.",
        reasonZh: "流里到达的调用和文字一起收集。",
      },
    ],
    upgrades: [],
    gains: {
      StopReason: ['"toolUse"'],
      AssistantMessage: ["toolCalls?: ToolCall[]"],
      AgentMessage: ["ToolResultMessage"],
      ProviderMessage: ["toolCalls?: ToolCall[]", '{ role: "toolResult"; toolCallId: string; content: string }'],
      TurnOptions: ["maxTurns?: number", "execute?: ToolExecutor"],
      ToolRegistry: ["run(call: ToolCall): string"],
      ProviderEvent: ['{ type: "tool_call"; call: ToolCall }'],
    },
  },
  {
    id: "s05",
    folder: "s05_hooks",
    title: "Hooks",
    titleZh: "钩子",
    terms: { zh: ["钩子"], en: ["hooks?"] },
    parts: ["BeforeToolCallResult", "ToolHooks", "assertAllowed", "reviseToolResult", "executeToolCall"],
    welds: [
      {
        name: "startToolCalls",
        reason: "Each call goes through the hooks, whoever executes it.",
        reasonZh: "每个调用都先过钩子，不管由谁来执行。",
      },
    ],
    upgrades: [],
    gains: {
      TurnOptions: ["hooks?: ToolHooks"],
    },
  },
  {
    id: "s06",
    folder: "s06_snapshot",
    title: "Snapshot",
    titleZh: "快照",
    terms: { zh: ["快照"], en: ["snapshots?"] },
    parts: ["TurnSnapshot", "createTurnSnapshot"],
    welds: [
      {
        name: "runEventedToolLoop",
        reason: "Requests are built from a snapshot of the turn, not from the live state.",
        reasonZh: "请求用本轮的快照来拼，不再读随时会变的状态。",
      },
    ],
    upgrades: [],
    gains: {
      AgentState: ["model: string"],
    },
  },
  {
    id: "s07",
    folder: "s07_session",
    title: "Session",
    titleZh: "会话树",
    terms: { zh: ["会话树", "分支", "分叉"], en: ["session tree", "branch(?:es|ed)?"] },
    parts: ["SessionEntry", "SessionNode", "assertOneOf", "sealMessage", "SessionTree"],
    welds: [
      {
        name: "buildProviderInput",
        reason: "The history is the path through the tree.",
        reasonZh: "历史就是树上的那条路径。",
      },
      { name: "recordMessage", reason: "A message is appended to the tree.", reasonZh: "消息追加到树上。" },
      {
        name: "runOneTurn",
        reason: "A turn reserves the tree, so that nobody moves in it meanwhile.",
        reasonZh: "一轮期间占用这棵树，别人不能在里面移动。",
      },
    ],
    upgrades: [
      {
        rule: "U1",
        name: "AgentState.messages",
        from: "messages: AgentMessage[]",
        to: "messages: SessionTree",
        reason: "A list has one past; a history that can be continued from any point is a tree.",
        reasonZh: "列表只有一种过去；能从任何一处接着长的历史，是一棵树。",
      },
    ],
    gains: {},
  },
  {
    id: "s08",
    folder: "s08_resources",
    title: "Resources",
    titleZh: "资源",
    terms: { zh: ["资源", "系统提示词"], en: ["resources?", "system prompt"] },
    parts: [
      "ContextResource",
      "MAX_RESOURCE_CHARS",
      "RESOURCE_KINDS",
      "sealResource",
      "ResourceLoader",
      "cutText",
      "buildSystemPrompt",
    ],
    welds: [
      {
        name: "buildProviderInput",
        reason: "A request now carries the system prompt.",
        reasonZh: "请求开始带上系统提示词。",
      },
    ],
    upgrades: [],
    gains: {
      ProviderInput: ["systemPrompt: string"],
      TurnOptions: ["loader?: ResourceLoader"],
    },
  },
  {
    id: "s09",
    folder: "s09_extensions",
    title: "Extensions",
    titleZh: "扩展",
    terms: { zh: ["扩展"], en: ["extensions?"] },
    parts: [
      "Command",
      "RuntimeEvent",
      "EventHandler",
      "ExtensionAPI",
      "Extension",
      "sealCommand",
      "filterHandler",
      "ExtensionRuntime",
      "publish",
    ],
    welds: [
      {
        name: "recordMessage",
        reason: "What is recorded is also told to the extensions.",
        reasonZh: "记下的东西也告诉扩展。",
      },
      { name: "runOneTurn", reason: "The end of a turn is an event too.", reasonZh: "一轮结束也是一个事件。" },
    ],
    upgrades: [],
    gains: {
      TurnOptions: ["extensions?: ExtensionRuntime"],
    },
  },
  {
    id: "s10",
    folder: "s10_modes",
    title: "Modes",
    titleZh: "输出模式",
    terms: { zh: ["输出模式"], en: ["(?:print|JSON|output) modes?"] },
    parts: ["RuntimeMode", "PrintMode", "JsonMode"],
    welds: [
      {
        name: "recordMessage",
        reason: "It no longer writes a line by itself; showing is the mode's work.",
        reasonZh: "不再自己输出；怎么显示归输出模式管。",
      },
      {
        name: "escapeControls",
        reason: "JSON has its own way to write a control character.",
        reasonZh: "JSON 里的控制字符有自己的写法。",
      },
      {
        name: "publish",
        reason: "Events go to the mode as well, and the mode writes.",
        reasonZh: "事件也交给输出模式，由它来写。",
      },
    ],
    upgrades: [],
    gains: {
      TurnOptions: ["mode?: RuntimeMode"],
    },
  },
  {
    id: "s11",
    folder: "s11_trust",
    title: "Trust",
    titleZh: "信任",
    terms: { zh: ["信任", "可信"], en: ["trust(?:ed|s)?", "untrusted"] },
    parts: ["ProjectTrust"],
    welds: [
      {
        name: "buildProviderInput",
        reason: "The loader is told whether the project is trusted.",
        reasonZh: "加载时说明项目是否可信。",
      },
    ],
    upgrades: [
      {
        rule: "U1",
        name: "ResourceLoader.load",
        from: "load(): ContextResource[]",
        to: "load(trust?: ProjectTrust): ContextResource[]",
        reason: "Without a word about trust nothing is loaded any more, so that forgetting it fails closed.",
        reasonZh: "不说明是否可信就什么也不加载，忘了传参也只会偏严。",
      },
    ],
    gains: {
      TurnOptions: ["trust?: ProjectTrust"],
      ExtensionRuntime: [
        "async useProject(fetchExtension: () => Extension | Promise<Extension>, trust?: ProjectTrust): Promise<boolean>",
      ],
    },
  },
  {
    id: "s12",
    folder: "s12_packages",
    title: "Packages",
    titleZh: "包",
    terms: { zh: ["软件包", "(?:一个|这个|装|安装)包(?![括含])"], en: ["packages?(?!\\.json)"] },
    parts: [
      "PackageManifest",
      "Package",
      "LoadedPackage",
      "packageName",
      "itemNames",
      "packageSchema",
      "pick",
      "loadPackage",
      "installLoadedPackage",
    ],
    welds: [],
    upgrades: [],
    gains: {
      ResourceLoader: ["add(resources: ContextResource[]): void"],
    },
  },
]

/** A property that must hold at any moment, from the chapter on in which it can first be stated. */
export type Invariant = {
  id: "I1" | "I2" | "I3" | "I4" | "I5" | "I6"
  first: ChapterId
  sentence: string
  sentenceZh: string
}

/** The six invariants of an agent system. */
export const INVARIANTS: readonly Invariant[] = [
  {
    id: "I1",
    first: "s01",
    sentence: "A vendor's format stops at the adapter. The core and the history know our own fields only.",
    sentenceZh: "厂商格式止步于适配层。核心和历史里只有我们自己的字段。",
  },
  {
    id: "I2",
    first: "s04",
    sentence: "Every tool call has exactly one result, whatever fails.",
    sentenceZh: "每个工具调用恰好有一个结果，不管哪里出错。",
  },
  {
    id: "I3",
    first: "s04",
    sentence: "No call of an incomplete message runs; each is answered with an error.",
    sentenceZh: "消息不完整，其中的调用一个都不执行，每个都答一条错误。",
  },
  {
    id: "I4",
    first: "s04",
    sentence: "Results are recorded in the order of the calls, whatever finishes first.",
    sentenceZh: "结果按调用的顺序记录，不管谁先做完。",
  },
  {
    id: "I5",
    first: "s01",
    sentence: "History only grows, old entries never change, and the same history gives the same context to the byte.",
    sentenceZh: "历史只增不改；同样的历史给出逐字节相同的上下文。",
  },
  {
    id: "I6",
    first: "s08",
    sentence:
      "Texts are read and never run, code enters through a door of its own, and nothing of an untrusted project is loaded.",
    sentenceZh: "文本只读不执行；代码走自己的门；不可信的项目什么也不加载。",
  },
]

/** The chapter with this id, or with this number or folder name. Throws for anything else, naming what there is. */
export function findChapter(name: string): Chapter {
  const number = /^s?(\d+)$/i.exec(name)?.[1]
  const id = number === undefined ? name : `s${number.padStart(2, "0")}`
  const chapter = CHAPTERS.find((candidate) => candidate.id === id || candidate.folder === id)
  if (chapter !== undefined) return chapter
  throw new InputError(`unknown chapter "${name}": expected one of ${CHAPTERS.map((known) => known.id).join(", ")}`)
}
