/** A command that cannot do its work, because what it was given is not what it needs. Exit code 2. */
export class InputError extends Error {}

/** An `InputError` about a file. Its message starts with the path, which a terminal shows as its reader calls the file. */
export class FileError extends InputError {
  readonly file: string

  /** `problem` is what follows the path, with the blank or the place between them. */
  constructor(file: string, problem: string) {
    super(`${file}${problem}`)
    this.file = file
  }
}
