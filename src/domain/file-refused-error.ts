/** A file, or what was said of its columns, that can't be read. The message is for people. */
export class FileRefusedError extends Error {}
