export class PageError extends Error {
  readonly status: number;
  /** The address's invalid parameter. */
  readonly field: string | undefined;
  constructor(status: number, message: string, field?: string) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

export const notFoundError = (what: string) => new PageError(404, `There is no ${what} here.`);
