/** The steps of each chapter: what to do now, the tests that say when it is done, and what helps. Each step builds on the ones before it. */
import type { Text } from "../course/language.ts"
import type { Chapter, ChapterId } from "../course/manifest.ts"

/** One thing to do. */
export type Step = {
  task: Text
  /** What is written or changed: functions, `Class.member`, constants. The start of a chapter has their heads. */
  names: readonly string[]
  /** The tests that the step means: those of the chapter's own parts in whose path a part, a group or a name begins so. None: all that there are. */
  tests: readonly string[]
  /** Which promise is meant, and which idea keeps it. Never code. Which function it is about is told by `names`. */
  promise: Text
  idea: Text
}

const STEPS: Readonly<Record<ChapterId, readonly Step[]>> = {
  s01: [
    {
      task: {
        en: "Play one turn: record what the person said, ask, record what the model said, show it.",
        zh: "跑通一轮：记下人说的话，发请求，记下模型的回答，再显示出来。",
      },
      names: [
        "findProblem",
        "finishMessage",
        "toProviderMessage",
        "buildProviderInput",
        "requestMessage",
        "recordMessage",
        "runOneTurn",
      ],
      tests: ["keeps the person's words", "sends the whole history", "shows what the turn"],
      promise: {
        en: "Words in, answer out, both kept in this order; and the model sees all of it.",
        zh: "话进去，回答出来，两样都按这个顺序留下；模型全都看得到。",
      },
      idea: {
        en: "Record before you ask, so that the request holds the newest words. The model remembers nothing: send the whole list, without what is only ours. The person's own words are not shown again.",
        zh: "先记再问，请求里才有最新的那句。模型什么都不记得：每次发整个列表，去掉只属于我们自己的字段。人自己的话不用再显示一遍。",
      },
    },
    {
      task: {
        en: "Let a provider fail in every way: each failure becomes an answer that says why.",
        zh: "让模型那一端以各种方式失败：每次失败都变成一条说明原因的回答。",
      },
      names: ["describeError", "failMessage", "findProblem", "requestMessage"],
      tests: ["stores a failing provider", "survives a provider", "B35", "I3: a message that ends", "B122"],
      promise: {
        en: "R4: an error is a message that always says something, and the session goes on.",
        zh: "R4：错误也是消息，总有话可读；会话照常继续。",
      },
      idea: {
        en: "Catch around the one place that asks, and look at what came back: an end that is not stop, or no text, is a failure too. Whatever was thrown has a readable text, or fixed words do for it.",
        zh: "只在发请求的那一处接住异常，再看看收到了什么：结尾不是 stop，或者没有文字，同样是失败。抛出来的东西总能变成能读的文字，实在没有就用一句固定的话。",
      },
    },
    {
      task: {
        en: "Protect the history: nobody can edit it, it has our own fields only, and no half characters.",
        zh: "保护历史：谁也改不了，只有我们自己的字段，没有半个字符。",
      },
      names: ["failMessage", "finishMessage", "recordMessage", "runOneTurn"],
      tests: ["hands out", "B36, B38", "only ever adds", "s01 half characters"],
      promise: {
        en: "I5: what was said does not change. I1: no vendor's field gets in.",
        zh: "I5：说过的不再改变。I1：厂商字段进不来。",
      },
      idea: {
        en: "Build a new message from the fields you know instead of keeping the one you got, and freeze it. Texts have a method that makes them well-formed.",
        zh: "不要留下收到的对象，用认识的字段拼一个新的，再冻结。字符串自带一个方法能把它变规整。",
      },
    },
  ],
  s02: [
    {
      task: {
        en: "Take tools in: check and copy each one, keep them by name, list what the model may read.",
        zh: "把工具收进来：逐个检查、复制，按名字保存，再列出给模型看的那一半。",
      },
      names: ["refuse", "expectString", "sealTexts", "sealTool", "ToolRegistry.register", "ToolRegistry.getSpecs"],
      tests: ["B74, B78", "refuses a tool", "B76", "keeps a copy"],
      promise: {
        en: "What is registered is sound, stands there once, and nobody can change it afterwards.",
        zh: "注册过的东西没有问题，只有一份，事后谁也改不了。",
      },
      idea: {
        en: "Check everything before you change anything. A Map takes any string as a key; an object does not.",
        zh: "全部检查完再动手改。Map 能用任何字符串当键，普通对象不行。",
      },
    },
    {
      task: { en: "Tell the model of the tools, in every request.", zh: "每次请求都告诉模型有哪些工具。" },
      names: ["buildProviderInput", "runOneTurn"],
      tests: ["tells the model", "sends an empty list", "shows a tool that came"],
      promise: { en: "The model knows what is there now.", zh: "模型知道此刻手边有什么。" },
      idea: {
        en: "Read the registry when the request is built. For that the options of the turn have to get there; without a registry the list is empty.",
        zh: "拼请求的时候现读工具表，所以要把这一轮的选项传到那里；没有工具表就是空列表。",
      },
    },
  ],
  s03: [
    {
      task: {
        en: "Fold a stream of events into one message.",
        zh: "把一串事件合成一条消息。",
      },
      names: ["collectAssistantMessage"],
      tests: ["collects a stream by itself"],
      promise: {
        en: "It never rejects; a stream that breaks or stops short is an error that keeps its text.",
        zh: "它从不 reject；断开的、没说完的流变成错误，已收到的文字留着。",
      },
      idea: {
        en: "Keep the text in one variable, return at the event that ends the message, and treat falling out of the loop like an exception.",
        zh: "文字攒在一个变量里，遇到结束事件就返回；循环走完了还没返回，当异常处理。",
      },
    },
    {
      task: { en: "Ask through the stream.", zh: "改成经过流来请求。" },
      names: ["requestMessage"],
      tests: ["joins the pieces", "keeps the text", "B33", "survives a provider that fails before", "stops reading"],
      promise: {
        en: "From outside, asking is as it was: one message comes back.",
        zh: "从外面看，请求还是老样子：回来一条消息。",
      },
      idea: {
        en: "The provider may fail before there is any stream, and it may be asynchronous: that belongs inside the same try.",
        zh: "还没有流的时候就可能失败，也可能是异步的：都放进同一个 try 里。",
      },
    },
    {
      task: {
        en: "Check what comes in: texts that are none, events that nobody knows.",
        zh: "检查进来的东西：不是文字的文字，没人认识的事件。",
      },
      names: ["collectAssistantMessage"],
      tests: [
        "turns an event",
        "s03 the stream's door",
        "s03 what a refusal says",
        "s03 a provider that is asynchronous",
      ],
      promise: { en: "Nothing strange is glued into the text of an answer.", zh: "古怪的东西不会粘进回答的文字里。" },
      idea: {
        en: "This is a door: what you do not know you refuse, by name and not at full length, and the error keeps what was said before.",
        zh: "这里是一道门：不认识的就拒绝，说出是什么但别整段照抄；错误里保留前面说过的话。",
      },
    },
  ],
  s04: [
    {
      task: {
        en: "Prepare for code of others: describe anything that is thrown, and run what you do not own under a guard.",
        zh: "为别人的代码做准备：抛出什么都能描述；不归你管的代码在保护下运行。",
      },
      names: ["describeError", "guard", "refuse"],
      tests: ["survives a provider"],
      promise: {
        en: "Describing an error never fails and is never blank.",
        zh: "描述错误本身不会失败，也不会是空白。",
      },
      idea: {
        en: "Even reading the message may throw. A text that is blank, or that every object has, says nothing.",
        zh: "连读 message 都可能抛异常。空白的、每个对象都一样的文字，等于没说。",
      },
    },
    {
      task: { en: "Run a call by the registry, for its text.", zh: "让工具表执行一个调用，得到一段文字。" },
      names: ["sealToolCall", "runForText", "ToolRegistry.run"],
      tests: ["the registry by itself"],
      promise: {
        en: "It never throws: unknown tools and failing ones give `error: …`.",
        zh: "从不抛异常：没有的工具、失败的工具都给出 `error: …`。",
      },
      idea: {
        en: "Everything that may fail goes into one function that is run inside a try. The tool gets a copy of its arguments.",
        zh: "会失败的都放进同一个函数，在 try 里运行。工具拿到的是参数的副本。",
      },
    },
    {
      task: {
        en: "Collect calls beside the text, and judge a message with calls.",
        zh: "收文字的同时收调用，并判断带调用的消息完不完整。",
      },
      names: ["addToolCall", "addCalls", "findProblem", "finishMessage", "collectAssistantMessage"],
      tests: ["keeps our fields of a call"],
      promise: {
        en: "I3 begins here: only a message that ended with toolUse is complete with calls.",
        zh: "I3 从这里开始：带调用的消息，结尾是 toolUse 才算完整。",
      },
      idea: {
        en: "A failing message keeps the calls that had arrived: they have to be answered. Take a call in before its arguments are checked.",
        zh: "失败的消息也保留已经到达的调用，因为都要答复。先收下调用，再检查参数。",
      },
    },
    {
      task: { en: "Write the check of a history: calls and results in pairs.", zh: "写对历史的检查：调用和结果成对。" },
      names: ["assertUnique", "assertPairedToolCalls"],
      tests: ["accepts ", "rejects "],
      promise: {
        en: "I2 and I4: directly behind the calls stand exactly their results, in order.",
        zh: "I2、I4：调用后面紧跟着的恰好是它们的结果，按顺序。",
      },
      idea: {
        en: "Walk through the list with a queue of the ids that are due. Look at the place behind the last message as well.",
        zh: "带着一个“还欠哪些 id”的队列走一遍列表；最后一条后面的位置也要看。",
      },
    },
    {
      task: {
        en: "Close the loop: request, run the calls, record the results, request again.",
        zh: "把循环接上：请求，执行调用，记下结果，再请求。",
      },
      names: ["toolResult", "errorResult", "startToolCalls", "checkMaxTurns", "runEventedToolLoop", "runOneTurn"],
      tests: [
        "records the message with its calls",
        "sends calls and results",
        "runs nothing before",
        "gives a tool a copy",
        "B21",
        "B13: an id may come back",
        "a tool may be an object",
        "s04 a call without arguments",
      ],
      promise: {
        en: "The model asks until it asks for no more, and the history tells all of it.",
        zh: "模型一直要，要到不要为止；历史里全都有。",
      },
      idea: {
        en: "Await the promises one after the other, in call order, and record each as it comes. The turn ends with a message that asks for nothing.",
        zh: "按调用的顺序逐个 await，来一个记一个。不再要工具的那条消息结束这一轮。",
      },
    },
    {
      task: {
        en: "Answer what cannot run: tools that fail, messages that are incomplete, calls that are none.",
        zh: "答复那些没法执行的：失败的工具、不完整的消息、不成样子的调用。",
      },
      names: ["startToolCalls", "addToolCall", "collectAssistantMessage", "runForText"],
      tests: [
        "tool results are total",
        "calls of an incomplete message",
        "the reason is not lost",
        "a call whose input",
        "a call that is",
        "a promise that is refused",
      ],
      promise: {
        en: "I3: no call of an incomplete message runs, and each is told why.",
        zh: "I3：不完整的消息里一个调用都不执行，每个都说明原因。",
      },
      idea: {
        en: "Two questions stand in front of every execution: is the message complete, and was the model shown this tool? The reason stands in the message itself.",
        zh: "每次执行前有两问：消息完整吗？这个工具模型看到过吗？原因就在消息自己的文字里。",
      },
    },
    {
      task: {
        en: "Limit the turn, and refuse one that cannot begin.",
        zh: "给一轮设上限；开始不了的一轮，直接拒绝。",
      },
      names: ["checkMaxTurns", "runEventedToolLoop", "runOneTurn"],
      tests: ["the limit", "the guard", "a turn that is refused", "s04 the loop by itself", "what is recorded twice"],
      promise: { en: "R5: the loop ends. What is refused leaves no trace.", zh: "R5：循环会结束。被拒绝的不留痕迹。" },
      idea: {
        en: "Everything that can refuse the turn goes before the first recording. The history is checked before every request, not once.",
        zh: "所有会拒绝这一轮的检查，都在第一次记录之前。历史在每次请求前都检查，不是只查一次。",
      },
    },
    {
      task: {
        en: "Let a caller execute the calls in a way of its own.",
        zh: "让调用方用自己的方式执行调用。",
      },
      names: ["startToolCalls", "runEventedToolLoop"],
      tests: ["an executor from outside", "I2, I3, I4", "nothing that the model is sent can be edited"],
      promise: { en: "I4: recorded in call order, whatever is done first.", zh: "I4：谁先做完都按调用的顺序记录。" },
      idea: {
        en: "What an executor answers comes from outside: look at its id and its text, and make a result of your own from them.",
        zh: "执行器的答复来自外面：看它的 id 和文字，再用它们拼出自己的结果。",
      },
    },
    {
      task: {
        en: "Make the output harmless: it may fail, and what tools have read must not drive a terminal.",
        zh: "让输出无害：它可能失败；工具读到的内容不能操纵终端。",
      },
      names: ["escapeControls", "recordMessage"],
      tests: ["an output that", "s04 control characters"],
      promise: { en: "Showing a message never costs a result.", zh: "显示一条消息，绝不赔上一个结果。" },
      idea: {
        en: "Record first, show afterwards and under the guard. Control characters become visible; tabs and line ends stay.",
        zh: "先记录，再在保护下显示。控制字符变成看得见的形式，制表符和换行留着。",
      },
    },
  ],
  s05: [
    {
      task: {
        en: "Execute one call with both hooks, without a loop.",
        zh: "不靠循环，带着前后两个钩子执行一个调用。",
      },
      names: ["assertAllowed", "reviseToolResult", "executeToolCall"],
      tests: ["a call that is executed by itself", "executes a call by itself", "a call executed without a loop"],
      promise: { en: "Before, run, after; what fails is the result.", zh: "先问，再执行，再问；失败的就是结果。" },
      idea: {
        en: "One function throws unless the call is allowed, one gives the text to record. The caller of both makes a result of whatever is thrown.",
        zh: "一个函数不允许就抛异常，一个给出要记录的文字。调用它们的那个，把抛出的变成结果。",
      },
    },
    {
      task: {
        en: "Ask before each call of the loop. Whoever does not clearly allow blocks.",
        zh: "循环里每个调用之前都问。没有明确允许，就是阻止。",
      },
      names: ["startToolCalls", "assertAllowed"],
      tests: ["asks before", "a blocked call", "B80", "B84", "B18", "a before-hook that", "hooks that are"],
      promise: {
        en: "It fails closed: a hook that cannot decide blocks.",
        zh: "出错就关门（fail closed）：做不了决定的钩子等于阻止。",
      },
      idea: {
        en: "There is one answer that lets a call through, so ask for that one. The hook and the tool get the very same frozen call.",
        zh: "能放行的答案只有一种，就只认这一种。钩子和工具看到的是同一个冻结的调用。",
      },
    },
    {
      task: {
        en: "Let the after-hook revise a result, and keep an error an error.",
        zh: "让后置钩子修改结果，但错误仍然是错误。",
      },
      names: ["startToolCalls", "reviseToolResult"],
      tests: ["B85", "of a good result", "B82", "an after-hook", "the after-hook reads", "options of a class"],
      promise: { en: "No rewriting makes a failure look like a success.", zh: "怎么改写，失败都不会看起来像成功。" },
      idea: {
        en: "Nothing returned means unchanged. If the old text was an error and the new one does not look like one, put the prefix back.",
        zh: "什么都不返回就是不改。原来是错误而新文字看不出来，就把前缀补回去。",
      },
    },
  ],
  s06: [
    {
      task: { en: "Take the snapshot of a turn.", zh: "给一轮拍快照。" },
      names: ["createTurnSnapshot"],
      tests: ["a snapshot stays"],
      promise: { en: "What is done later changes no snapshot.", zh: "之后做什么都改不了快照。" },
      idea: {
        en: "It is what the first request would be. There is a function that builds just that.",
        zh: "它就是第一次请求的样子。已经有一个函数专门拼这个。",
      },
    },
    {
      task: {
        en: "Build every request of the turn from its snapshot.",
        zh: "一轮里的每次请求都从快照来。",
      },
      names: ["runEventedToolLoop"],
      tests: ["B116", "each request of a turn", "a provider that edits", "a request never names"],
      promise: {
        en: "A tool that is registered during a turn is there from the next one on.",
        zh: "一轮当中注册的工具，下一轮才有。",
      },
      idea: {
        en: "Take it once, before the loop. What the turn itself says is added behind it; whoever is sent a request gets copies of the lists.",
        zh: "循环之前拍一次。这一轮自己产生的消息接在后面；发出去的请求里，列表都是副本。",
      },
    },
  ],
  s07: [
    {
      task: {
        en: "Grow a tree: take messages in, give each an id and a parent, walk back from the leaf.",
        zh: "让树长起来：收下消息，给每条一个 id 和父节点，从叶子走回去。",
      },
      names: [
        "assertOneOf",
        "sealMessage",
        "SessionTree.leafId",
        "SessionTree.append",
        "SessionTree.currentPath",
        "SessionTree.allEntries",
      ],
      tests: [
        "hangs each message",
        "a message without calls",
        "a result that is appended",
        "B50",
        "entries cannot",
        "B48",
        "s07 a message that was appended",
        "refuses a message",
      ],
      promise: { en: "I5: entries are added and never changed.", zh: "I5：只增加条目，从不修改。" },
      idea: {
        en: "Each node knows its parent, so the path is found from its end. Ids may come from how many there are. Check before anything is added.",
        zh: "每个节点知道自己的父节点，路径从末端往回找。id 可以由已有的数量得来。先检查，再添加。",
      },
    },
    {
      task: { en: "Stand elsewhere in the tree.", zh: "站到树上别的地方去。" },
      names: ["SessionTree.moveTo"],
      tests: ["grows a second branch", "B57: null", "B57: moving", "B57: no one", "I5: any walk"],
      promise: {
        en: "Going back loses nothing, and nobody stands between a call and its result.",
        zh: "回退什么也不丢；没有人能站在调用和结果之间。",
      },
      idea: {
        en: "Only the leaf moves. Look first: is the id known, and would the path to it be a history that could be sent?",
        zh: "动的只有叶子。先看：id 认识吗？走到那里的路径，是一段能发出去的历史吗？",
      },
    },
    {
      task: { en: "Let requests and recordings use the tree.", zh: "让请求和记录都用这棵树。" },
      names: ["buildProviderInput", "recordMessage"],
      tests: [
        "keeps the whole message",
        "B57: a message of the person",
        "no request of the new branch",
        "a turn that could not run",
        "B54",
        "the release of a turn",
      ],
      promise: {
        en: "The model sees the path to the leaf and no other branch.",
        zh: "模型看到的是通往叶子的路径，看不到别的分支。",
      },
      idea: {
        en: "Two places used the list: where it is read and where it grows. The tree has a method for each.",
        zh: "用到列表的有两处：读的地方和增长的地方。树上各有一个方法。",
      },
    },
    {
      task: {
        en: "Reserve the tree for one turn at a time.",
        zh: "一次只让一轮占用这棵树。",
      },
      names: ["SessionTree.acquire", "runOneTurn"],
      tests: [
        "a tool cannot branch",
        "nor can a hook",
        "one turn at a time",
        "a tool that puts another tree",
        "an old release",
        "a refused acquire",
        "s07 what a turn is given",
      ],
      promise: {
        en: "A second turn is refused, and the first is not disturbed.",
        zh: "第二轮被拒绝，第一轮不受影响。",
      },
      idea: {
        en: "Acquiring gives a function that releases, and that one works once. Release in every case, also when the loop fails; fix what the turn was given at its start.",
        zh: "占用时给出一个释放函数，它只管用一次。不管怎样都要释放，循环失败也一样；这一轮拿到的选项，开始时就定下来。",
      },
    },
  ],
  s08: [
    {
      task: { en: "Take the texts of a project in, and hand out copies.", zh: "收下项目的文本，给出去的是副本。" },
      names: ["sealResource", "ResourceLoader.constructor", "ResourceLoader.load"],
      tests: ["loads copies", "s08 the loader's door"],
      promise: {
        en: "Whoever gave a text, or got one, can change none here.",
        zh: "给文本的人、拿文本的人，都改不了这里的。",
      },
      idea: {
        en: "Copy on the way in and on the way out. Kinds are a closed list: look whether it is one of them.",
        zh: "进来时复制，出去时也复制。种类是一份固定的清单，看它在不在里面。",
      },
    },
    {
      task: {
        en: "Put the texts into one prompt, and send it with every request.",
        zh: "把文本合成一段提示词，每次请求都带上。",
      },
      names: ["cutText", "buildSystemPrompt", "buildProviderInput"],
      tests: [
        "sends the project's texts",
        "sends an empty",
        "the system prompt is no message",
        "is fixed for the turn",
      ],
      promise: {
        en: "The model reads them by kind, in every request of the turn, and they are no part of the history.",
        zh: "模型按种类读到它们，一轮里的每次请求都有；它们不进历史。",
      },
      idea: {
        en: "Go through the kinds in their order and pick out the texts of each. The prompt is a field of the request, and empty where there is nothing to say.",
        zh: "按种类的顺序，逐类挑出文本。提示词是请求的一个字段，没有可说的就是空的。",
      },
    },
    {
      task: {
        en: "Keep the texts in bounds: none passes for a heading, none is endless, none is parted inside a character.",
        zh: "管住文本：冒充不了标题，不会没完没了，也不会从一个字符中间切开。",
      },
      names: ["cutText", "buildSystemPrompt"],
      tests: ["B90", "B120", "B46", "I6"],
      promise: {
        en: "Whatever a text holds, the model can tell where it begins and where it ends.",
        zh: "不管文本里有什么，模型都看得出它从哪里开始、到哪里结束。",
      },
      idea: {
        en: "Headings begin a line and contents are set in, whatever kind of line end they use. Some characters take two places: look at the one in front of the cut.",
        zh: "标题顶格，内容一律缩进，不管它用哪种换行。有些字符占两个位置：看切口前面那一个。",
      },
    },
  ],
  s09: [
    {
      task: {
        en: "Add an extension: all that it registers, or nothing.",
        zh: "加入一个扩展：它注册的要么全部生效，要么一样也不生效。",
      },
      names: [
        "sealCommand",
        "filterHandler",
        "ExtensionRuntime.constructor",
        "ExtensionRuntime.use",
        "ExtensionRuntime.getCommands",
      ],
      tests: [
        "brings a tool",
        "one without a name",
        "an API that was kept",
        "a broken place for reports",
        "under another owner",
        "an extension that failed",
        "two extensions without",
      ],
      promise: {
        en: "An extension that fails is reported by name and leaves nothing behind.",
        zh: "失败的扩展按名字报告，什么也不留下。",
      },
      idea: {
        en: "Collect in lists of your own during the setup, look for clashes when it is over, and only then hand on what was collected.",
        zh: "setup 期间先收在自己的列表里，结束后查有没有撞名，然后才真正交出去。",
      },
    },
    {
      task: { en: "Run a command by its name.", zh: "按名字运行命令。" },
      names: ["ExtensionRuntime.runCommand"],
      tests: ["brings commands", "B75", "a clash of commands", "a command may be an object"],
      promise: {
        en: "R4: a command that fails, or that nobody knows, gives a text.",
        zh: "R4：失败的、没人认识的命令，也给出一段文字。",
      },
      idea: {
        en: "s04 has a function that runs what somebody registered, for its text.",
        zh: "s04 里有个函数，专门运行别人注册的东西并得到文字。",
      },
    },
    {
      task: { en: "Tell the handlers what happens.", zh: "把发生的事告诉监听器。" },
      names: ["ExtensionRuntime.emit"],
      tests: [
        "use is all or nothing",
        "refuses an extension",
        "the same extension a second time",
        "one that uses itself",
        "a dispatch goes",
      ],
      promise: {
        en: "In order of registration; one that fails harms nobody.",
        zh: "按注册的顺序；一个失败不连累别人。",
      },
      idea: {
        en: "Walk over a copy of the list, each handler under the guard. What they are given is frozen.",
        zh: "遍历列表的副本，每个监听器都在保护下运行。给它们的事件是冻结的。",
      },
    },
    {
      task: {
        en: "Publish from the loop: every message, and the end of the turn.",
        zh: "从循环里发布：每条消息，以及一轮的结束。",
      },
      names: ["publish", "recordMessage", "runOneTurn"],
      tests: [
        "hears what really happens",
        "a failing turn",
        "calls handlers",
        "no handler can change",
        "done goes to",
        "done is told",
      ],
      promise: { en: "They hear what really happens, once, in order.", zh: "听到的是真正发生的事，一次，按顺序。" },
      idea: {
        en: "Publish where the message is recorded. The end is told when the session is free again, and not before.",
        zh: "在记录消息的地方发布。结束要等会话重新空出来才说，不能更早。",
      },
    },
  ],
  s10: [
    {
      task: { en: "Show events to people.", zh: "把事件显示给人看。" },
      names: ["PrintMode.constructor", "PrintMode.render"],
      tests: ["prints what was said", "leaves tabs"],
      promise: { en: "Every line of every message, and nothing else.", zh: "每条消息的每一行，别的没有。" },
      idea: {
        en: "Not every event has something to show. An output may fail: each line under the guard.",
        zh: "不是每个事件都有东西可显示。输出可能失败：每一行都在保护下写。",
      },
    },
    {
      task: { en: "Show events to programs: one JSON object per line.", zh: "把事件给程序看：一行一个 JSON 对象。" },
      names: ["escapeControls", "JsonMode.constructor", "JsonMode.render"],
      tests: ["B97: the true text", "B95: a mode whose output"],
      promise: {
        en: "No reader finds a line end inside a line, and the true text comes out of it.",
        zh: "行里找不到换行，读回来的是原文。",
      },
      idea: {
        en: "JSON has its own way to write a character by its number. Let the old function take the way to write it as a parameter.",
        zh: "JSON 有自己的写法，用编号表示字符。让原来的函数把“怎么写”当参数。",
      },
    },
    {
      task: { en: "Let the mode show what the loop publishes.", zh: "循环发布的，交给输出模式显示。" },
      names: ["publish", "recordMessage"],
      tests: [
        "shows the same loop",
        "B100",
        "events arrive while",
        "text that",
        "B97: no line",
        "prints through the output",
        "B95: a mode that throws",
        "s10 who is told",
      ],
      promise: {
        en: "The loop says it once; each mode shows it in its own way.",
        zh: "循环只说一次；每种模式按自己的方式显示。",
      },
      idea: {
        en: "Recording no longer writes a line by itself. First the extensions hear an event, then it is shown; without a mode people are meant.",
        zh: "记录消息时不再自己输出。事件先给扩展听，再显示；没有指定模式，就当是给人看。",
      },
    },
  ],
  s11: [
    {
      task: { en: "Load nothing from a project that nobody trusts.", zh: "没有人信任的项目，什么也不加载。" },
      names: ["ResourceLoader.load", "buildProviderInput"],
      tests: ["loads from a trusted", "B86"],
      promise: {
        en: "I6: an untrusted project contributes nothing, anywhere.",
        zh: "I6：不可信的项目在任何地方都不起作用。",
      },
      idea: {
        en: "One word lets texts through; everything else, and nothing at all, does not. The request has to pass the word on.",
        zh: "只有一个词能放行，别的词、没有词都不行。拼请求时要把这个词传下去。",
      },
    },
    {
      task: {
        en: "Take in code of a project, by the same door and no sooner.",
        zh: "项目的代码走同一道门进来，也不提前。",
      },
      names: ["ExtensionRuntime.useProject"],
      tests: ["B88", "code of a trusted"],
      promise: { en: "Code of an untrusted project is not even fetched.", zh: "不可信的项目，代码连取都不取。" },
      idea: {
        en: "Ask about trust before you call what fetches. What fails while fetching is reported like a failing extension.",
        zh: "先问信任，再去取。取的时候失败，和扩展失败一样报告。",
      },
    },
  ],
  s12: [
    {
      task: { en: "Check a package and sort what it holds.", zh: "检查一个包，把里面的东西分好类。" },
      names: ["packageName", "itemNames", "packageSchema", "pick", "loadPackage"],
      tests: ["sorts the contents", "an empty package is"],
      promise: {
        en: "What comes out is by kind, and each name has its text.",
        zh: "出来的按种类分好，每个名字都有文本。",
      },
      idea: {
        en: "Describe the shape with zod from the inside out: a name, lists of names, the whole. Then hand out what the lists name.",
        zh: "用 zod 从里到外描述形状：名字，名字的列表，整个包。然后按列表取出文本。",
      },
    },
    {
      task: {
        en: "Refuse a package that is wrong in any part, with every reason.",
        zh: "有一处不对就整个拒绝，并列出所有原因。",
      },
      names: ["packageName", "packageSchema", "loadPackage"],
      tests: [
        "B124",
        "refuses ",
        "an empty package whose",
        "a name that is not plain",
        "reads each content",
        "a text that is only inherited",
        "what was loaded",
      ],
      promise: { en: "Half a package is none, and no name can be a path.", zh: "半个包等于没有包；名字不可能是路径。" },
      idea: {
        en: "Say what a plain name is instead of what it is not. Names without a text and texts without a name are two sides of one comparison; copy the texts before you look.",
        zh: "说清普通名字是什么，而不是不是什么。没有文本的名字、没有名字的文本，是同一次比较的两面；先复制文本再看。",
      },
    },
    {
      task: { en: "Let a loader take more texts.", zh: "让加载器再收一些文本。" },
      names: ["ResourceLoader.add"],
      tests: ["a loader that was added to"],
      promise: { en: "All of them or none, behind what is there.", zh: "要么全收要么不收，接在已有的后面。" },
      idea: {
        en: "Check and copy each one, and only then put a new list in the place of the old one.",
        zh: "逐个检查复制完，再用新列表换下旧列表。",
      },
    },
    {
      task: { en: "Install a package, all of it or nothing.", zh: "安装一个包：要么整套，要么原样不动。" },
      names: ["installLoadedPackage"],
      tests: [
        "installs tools",
        "B88",
        "a clash installs",
        "a package that clashed",
        "contents are handed out",
        "a package is installed once",
        "with ",
      ],
      promise: {
        en: "I6: texts and code go through two doors, both of them guarded by trust.",
        zh: "I6：文本和代码走两道门，两道都看信任。",
      },
      idea: {
        en: "Tools and commands go in as one extension, under the name of the package. Prepare the texts before that, and add them behind it.",
        zh: "工具和命令合成一个扩展，用包的名字加进去。文本在那之前准备好，在那之后加。",
      },
    },
  ],
}

/** The last step of every chapter. */
const WHOLE: Step = {
  task: {
    en: "Look at the whole: everything that this chapter and those before it promise, the types, and the rules.",
    zh: "看整体：这一章和前面各章的所有保证，类型，还有规则。",
  },
  names: [],
  tests: [],
  promise: {
    en: "What held before holds still: a chapter adds to the program and takes nothing away.",
    zh: "以前成立的现在仍然成立：一章只给程序添东西，不拿走东西。",
  },
  idea: {
    en: "Compare the function that is named above with what it did in the chapter before: what does it no longer do?",
    zh: "把上面提到的函数和上一章比一比：有什么是它不再做的？",
  },
}

/** The steps of a chapter, in their order. */
export function stepsOf(chapter: Chapter): Step[] {
  return [...STEPS[chapter.id], WHOLE]
}

/** The tests that a step means, of all that there are for its chapter, in the order in which the step names them. */
export function testsOf(step: Step, chapter: Chapter, tests: readonly string[]): string[] {
  if (step.tests.length === 0) return [...tests]
  const own = tests.filter((test) => test.startsWith(`${chapter.id} `))
  const found = step.tests.flatMap((start) =>
    own.filter((test) => test.split(" > ").some((part) => part.startsWith(start))),
  )
  return [...new Set(found)]
}

/** The first step of which a test has not passed; as many as there are steps when all have, and 0 where there are no tests. */
export function firstOpenStep(chapter: Chapter, tests: readonly string[], passed: ReadonlySet<string>): number {
  const steps = stepsOf(chapter)
  if (tests.length === 0) return 0
  const open = steps.findIndex((step) => testsOf(step, chapter, tests).some((test) => !passed.has(test)))
  return open === -1 ? steps.length : open
}
