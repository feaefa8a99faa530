/** One thing that a reader's answer to an exercise has to do. It is judged by what happens, never by how it is written. */
export type Check<Answer> = {
  /** What is demanded, as a sentence. */
  title: string
  /** Throws, or rejects, when the answer does not do it. */
  run(answer: Answer): void | Promise<void>
}
