/** The six invariants on one card: what each says, how it shows when it is broken, how far away, what guards it, where to read and where to try it. */
import type { Text } from "../course/language.ts"
import { CHAPTERS, type Chapter, findChapter, INVARIANTS } from "../course/manifest.ts"
import { EXPERIMENTS, type Experiment } from "./experiments.ts"
import { runExperiment } from "./run.ts"

/** How each looks from outside when it is broken, by its id. */
const SYMPTOMS: Readonly<Record<string, Text>> = {
  I1: {
    en: "another model means changes in twenty files, and old sessions cannot be read any more",
    zh: "换个模型要改二十个文件，旧会话也读不出来了",
  },
  I2: {
    en: "the service refuses a long conversation with a 400, and every try after it",
    zh: "长会话突然被服务以 400 拒绝，之后每次都拒绝",
  },
  I3: {
    en: "a file holds the beginning of what it should hold, and nobody reported an error",
    zh: "文件里只剩开头一小截，却没有任何报错",
  },
  I4: {
    en: "no error at all; the same question is answered well today and badly tomorrow",
    zh: "没有任何报错；同一个问题，今天答得好，明天答得差",
  },
  I5: {
    en: "the agent has forgotten something, and nothing tells what was there before",
    zh: "agent 忘了事，而且再也查不出原来是什么",
  },
  I6: {
    en: "a key is out, or people say yes to every question without reading it",
    zh: "密钥泄露，或者用户不看内容就一路点允许",
  },
}

/** A line of the card. */
export type CardRow = {
  id: string
  sentence: Text
  symptom: Text
  guard: Text
  chapter: Chapter
  experiment: Experiment
  /** How far behind the first deviation somebody can notice, in the experiment on the first chapter that has it. */
  far: { messages: number; requests: number }
}

/** The rows, with what the lab measures now. */
export async function makeCard(root?: string): Promise<CardRow[]> {
  const rows: CardRow[] = []
  for (const { id, first, sentence, sentenceZh } of INVARIANTS) {
    const experiment = EXPERIMENTS.find(({ invariant }) => invariant === id)
    const symptom = SYMPTOMS[id]
    if (experiment === undefined || symptom === undefined) throw new Error(`the card has nothing on ${id}`)
    const last = CHAPTERS.at(-1) as Chapter
    const { runs } = await runExperiment(experiment, last, 1, 5, undefined, root)
    const far = runs.find(({ distance }) => distance !== undefined)?.distance
    if (far === undefined) throw new Error(`nobody can notice that ${id} is broken`)
    const chapter = findChapter(first)
    rows.push({
      id,
      sentence: { en: sentence, zh: sentenceZh },
      symptom,
      guard: experiment.guard,
      chapter,
      experiment,
      far,
    })
  }
  return rows
}
