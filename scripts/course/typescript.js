/** The compiler. It is required and not imported: Node would look through all of its nine megabytes for names, each time a command starts. */
import { createRequire } from "node:module"

export default createRequire(import.meta.url)("typescript")
