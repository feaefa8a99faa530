/** A command that cannot do its work, because what it was given is not what it needs. Exit code 2. */
export class InputError extends Error {}
