/** Three-way merge of texts, by lines. */
import { diff3Merge } from "node-diff3"

/** Lines that both sides changed, each in its own way. */
export type Conflict = {
  /** First line, in `ours` and in the merged text. Lines count from 1. */
  line: number
  mergedLine: number
  ours: string[]
  base: string[]
  theirs: string[]
}

/** The merged text. Where that is for a person to decide there are conflicts, and the text has `ours` in their places. */
export type Merge = { type: "merged"; text: string } | { type: "conflict"; conflicts: Conflict[]; text: string }

/** Makes in `ours` the edit that turned `base` into `theirs`. */
export function mergeTexts(ours: string, base: string, theirs: string): Merge {
  const regions = diff3Merge(ours.split("\n"), base.split("\n"), theirs.split("\n"), { excludeFalseConflicts: true })
  const conflicts: Conflict[] = []
  const lines: string[] = []
  for (const { ok, conflict } of regions) {
    if (ok !== undefined) lines.push(...ok)
    if (conflict === undefined) continue
    const mergedLine = lines.length + 1
    lines.push(...conflict.a)
    conflicts.push({ line: conflict.aIndex + 1, mergedLine, ours: conflict.a, base: conflict.o, theirs: conflict.b })
  }
  const text = lines.join("\n")
  return conflicts.length > 0 ? { type: "conflict", conflicts, text } : { type: "merged", text }
}
