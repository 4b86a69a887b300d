/** The message is for people. */
export class FileRefusedError extends Error {}
