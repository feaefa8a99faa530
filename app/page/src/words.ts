/** What the page says, in both languages side by side. */

/** A text in both languages. */
type Text = { en: string; zh: string }

const WORDS = {
  title: { en: "mini Pi", zh: "mini Pi" },
  prompt: { en: "What should be done?", zh: "想做什么？" },
  send: { en: "Send", zh: "发送" },
  cancel: { en: "Cancel", zh: "取消" },
  reset: { en: "New session", zh: "新会话" },
  conversation: { en: "Conversation", zh: "对话" },
  empty: { en: "Nothing has been said yet. Try “list files”.", zh: "还没有消息。试试“列出文件”。" },
  events: { en: "Events", zh: "事件" },
  tools: { en: "Tools", zh: "工具" },
  tree: { en: "Session tree", zh: "会话树" },
  treeHint: {
    en: "Choose an entry: the next prompt grows from there.",
    zh: "点一个条目，下一句话就从那里长出新的分支。",
  },
  beforeFirst: { en: "before the first message", zh: "第一条消息之前" },
  you: { en: "You", zh: "你" },
  agent: { en: "Agent", zh: "Agent" },
  result: { en: "result", zh: "结果" },
  error: { en: "error", zh: "错误" },
  allow: { en: "Allow", zh: "允许" },
  deny: { en: "Do not allow", zh: "不允许" },
  question: { en: "May this be done?", zh: "允许这样做吗？" },
  asks: { en: "asks before it does damage", zh: "可能造成破坏时会先问" },
  reads: { en: "only reads", zh: "只读" },
  source: { en: "of", zh: "来自" },
  lost: { en: "The server cannot be reached. Trying again…", zh: "连不上服务器，正在重试……" },
  trustAsk: {
    en: "This project brings texts or code along. Nothing of it is loaded until you trust it:",
    zh: "这个项目带有文本或代码。在你信任它之前，什么也不会加载：",
  },
  trust: { en: "Trust this project", zh: "信任这个项目" },
  distrust: { en: "Do not trust it", zh: "不信任" },
  trusted: { en: "trusted", zh: "已信任" },
  untrusted: { en: "not trusted", zh: "不信任" },
  undecided: { en: "not decided", zh: "尚未决定" },
  model: { en: "model", zh: "模型" },
  here: { en: "you are here", zh: "当前位置" },
} satisfies Record<string, Text>

/** The name of something that the page says. */
export type Word = keyof typeof WORDS

/** Whether the browser's person reads Chinese. */
export const isChinese: boolean = /^zh\b/i.test(navigator.language)

/** What the page says, in the language of the browser. */
export function say(word: Word): string {
  return WORDS[word][isChinese ? "zh" : "en"]
}
