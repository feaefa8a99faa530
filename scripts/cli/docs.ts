/**
 * Keeps the parts of documents that are made from data, from the code and from real runs.
 *
 *   npm run docs            says which documents are out of date; exit code 1 when one is
 *   npm run docs -- --write brings them up to date
 *   npm run docs -- s04     only those whose path contains a word
 */
import fs from "node:fs"
import path from "node:path"
import { findStale } from "../books/docs.ts"
import { readOptions } from "./options.ts"
import type { Command } from "./terminal.ts"

/** npm run docs */
export const command: Command = {
  usage: "usage: npm run docs -- [WORD ...] [--write]",
  async run(args, { out, root }) {
    const { values, positionals } = readOptions({
      args,
      allowPositionals: true,
      options: { write: { type: "boolean", default: false } },
    })
    const stale = await findStale(positionals, root)
    for (const { file, text } of stale) {
      if (values.write) fs.writeFileSync(path.join(root, file), text)
      out(`${file} ${values.write ? "brought up to date" : "is out of date: npm run docs -- --write"}`)
    }
    if (stale.length === 0) out("All documents say what the data says.")
    return stale.length === 0 || values.write ? 0 : 1
  },
}
