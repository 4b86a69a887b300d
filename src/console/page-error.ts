/** A refusal that a person reads as a page. */
export class PageError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const notFound = (what: string) => new PageError(404, `There is no ${what} here.`);
