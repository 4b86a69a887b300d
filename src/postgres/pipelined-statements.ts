import type { Writable } from "node:stream";
import pg from "pg";
import type { Result, Statement } from "./database.ts";
import { type BoundStatement, buildBoundMessages } from "./protocol-messages.ts";

export interface StatementCall {
  statement: Statement;
  values?: readonly unknown[];
}

/** `command`: the tag, such as `INSERT 0 5` or `COMMIT`. */
export interface StatementResult extends Result<Record<string, unknown>> {
  command: string;
}

/**
 * Runs statements in order, as one transaction unless one is open. If one fails, the following ones do not run, and its error is
 * thrown.
 *
 * They are sent in one write and answered in one: the driver would let PostgreSQL answer each, and every answer wakes both sides.
 * Named statements are prepared and described once per connection.
 *
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export async function runPipelined(client: pg.ClientBase, calls: readonly StatementCall[]): Promise<StatementResult[]> {
  const forms = preparedFormsOf(client);
  const newForms = new Map<string, PreparedForm>();
  const bound = calls.map(({ statement, values = [] }) => {
    const { name, text } = statement;
    const existing = newForms.get(name) ?? forms.get(name);
    if (existing && existing.text !== text) throw new Error(`two statements are named ${name}`);
    const form = existing ?? { name, text, columns: [], emptyRow: {} };
    if (!existing && name !== "") newForms.set(name, form);
    return { form, isNew: !existing, values };
  });
  const results = await readResults(client, bound);
  // Only now: after a failure, it would be unknown which ones were prepared.
  for (const [name, form] of newForms) forms.set(name, form);
  return results;
}

interface PreparedForm {
  name: string;
  text: string;
  columns: readonly { name: string; read(text: string): unknown }[];
  /** Rows are copies of this row of nulls, so that all have the same shape. */
  emptyRow: Record<string, unknown>;
}

const preparedFormsByClient = new WeakMap<pg.ClientBase, Map<string, PreparedForm>>();

function preparedFormsOf(client: pg.ClientBase): Map<string, PreparedForm> {
  let forms = preparedFormsByClient.get(client);
  if (!forms) {
    forms = new Map();
    preparedFormsByClient.set(client, forms);
  }
  return forms;
}

interface RowDescription {
  fields: readonly { name: string; dataTypeID: number }[];
}

function setResultColumns(form: PreparedForm, { fields }: RowDescription) {
  form.columns = fields.map(({ name, dataTypeID }) => ({ name, read: pg.types.getTypeParser(dataTypeID) }));
  form.emptyRow = Object.fromEntries(fields.map(({ name }) => [name, null]));
}

/** The driver's interface to a running query, beyond its published types. */
interface QueryHandling {
  /** An error if nothing was written. */
  submit(connection: { stream: Writable }): unknown;
  callback(error?: Error | null): void;
  handleRowDescription(description: RowDescription): void;
  handleDataRow(row: { fields: readonly (string | null)[] }): void;
  /** Called instead of `handleCommandComplete` for an empty text. */
  handleEmptyQuery(): void;
  handleCommandComplete(complete: { text: string }): void;
  handleReadyForQuery(): void;
  handleError(error: Error): void;
}

// The driver pipelines only its own kind of query.
const createDriverQuery = (client: pg.ClientBase, handling: Partial<QueryHandling>) =>
  client.query(Object.assign(new pg.Query(""), handling as object));

function readResults(
  client: pg.ClientBase,
  bound: readonly (BoundStatement & { form: PreparedForm })[],
): Promise<StatementResult[]> {
  const results: StatementResult[] = [];
  let rows: Record<string, unknown>[] = [];
  /** An unreadable value. The rest of the reply must still be read. */
  let problem: Error | undefined;
  return new Promise((resolve, reject) => {
    createDriverQuery(client, {
      submit({ stream }) {
        if (!stream.writable) return;
        try {
          const pieces = buildBoundMessages(bound);
          stream.cork();
          for (const piece of pieces) stream.write(piece);
          stream.uncork();
        } catch (error) {
          return error;
        }
      },
      handleRowDescription: (description) => setResultColumns(bound[results.length]!.form, description),
      handleDataRow({ fields }) {
        const { columns, emptyRow } = bound[results.length]!.form;
        const row = { ...emptyRow };
        try {
          for (let index = 0; index < fields.length; index++) {
            const text = fields[index]!;
            if (text !== null) row[columns[index]!.name] = columns[index]!.read(text);
          }
          rows.push(row);
        } catch (error) {
          problem ??= error as Error;
        }
      },
      handleEmptyQuery: () => results.push({ command: "", rows: [], rowCount: 0 }),
      handleCommandComplete({ text }) {
        results.push({ command: text, rows, rowCount: Number(text.slice(text.lastIndexOf(" ") + 1)) || 0 });
        rows = [];
      },
      callback(error) {
        if (error) reject(error);
      },
      handleReadyForQuery() {
        this.callback!(problem);
        resolve(results);
      },
      handleError(error) {
        this.callback!(error);
      },
    });
  });
}
