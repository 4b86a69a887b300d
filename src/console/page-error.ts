/** A refusal that a person reads as a page. */
export class PageError extends Error {
  readonly status: number;
  /** The part of the address at fault, when there is one. */
  readonly field: string | undefined;
  constructor(status: number, message: string, field?: string) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

export const notFoundError = (what: string) => new PageError(404, `There is no ${what} here.`);
