import type { Writable } from "node:stream";
import pg from "pg";
import type { Result, Statement } from "./database.ts";
import { type BoundStatement, buildBoundMessages } from "./protocol-messages.ts";

/** A statement and its values. */
export interface StatementCall {
  statement: Statement;
  values?: readonly unknown[];
}

/** What came of a statement, and which command PostgreSQL says that it was: `INSERT 0 5`, `COMMIT`. */
export interface StatementResult extends Result<Record<string, unknown>> {
  command: string;
}

/**
 * Run statements on this connection, one behind the other, in whatever transaction it is; outside of any they are one. They go out in one write and are
 * answered in one, where the driver would have PostgreSQL answer each by itself: every answer wakes both sides. A statement is prepared, and its
 * columns are asked, once for each connection; one without a name each time. Behind one that fails none is run, and its error is thrown.
 *
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export async function runPipelined(client: pg.ClientBase, asked: readonly StatementCall[]): Promise<StatementResult[]> {
  const forms = preparedFormsOf(client);
  const fresh = new Map<string, PreparedForm>();
  const bound = asked.map(({ statement, values = [] }) => {
    const { name, text } = statement;
    const known = fresh.get(name) ?? forms.get(name);
    if (known && known.text !== text) throw new Error(`two statements are named ${name}`);
    const form = known ?? { name, text, columns: [], emptyRow: {} };
    if (!known && name !== "") fresh.set(name, form);
    return { form, isNew: !known, values };
  });
  const answers = await readResults(client, bound);
  // Known from now on. Where any of them failed nobody knows which were prepared, so they will be prepared anew.
  for (const [name, form] of fresh) forms.set(name, form);
  return answers;
}

/** A statement as a connection knows it. */
interface PreparedForm {
  name: string;
  text: string;
  columns: readonly { name: string; read(text: string): unknown }[];
  /** A row of nulls. Rows begin as copies of it, so that all of them are of one shape. */
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

/** What the driver asks of a query while it is answered, beyond its published types. */
interface QueryHandling {
  /** Writes it. An error that it returns is the query's, and nothing was written. */
  submit(connection: { stream: Writable }): unknown;
  callback(error?: Error | null): void;
  handleRowDescription(description: RowDescription): void;
  handleDataRow(row: { fields: readonly (string | null)[] }): void;
  /** In place of a CommandComplete where the text is none. */
  handleEmptyQuery(): void;
  handleCommandComplete(complete: { text: string }): void;
  handleReadyForQuery(): void;
  handleError(error: Error): void;
}

// Only queries of the driver's own kind are sent while others are under way.
const createDriverQuery = (client: pg.ClientBase, handling: Partial<QueryHandling>) =>
  client.query(Object.assign(new pg.Query(""), handling as object));

function readResults(
  client: pg.ClientBase,
  bound: readonly (BoundStatement & { form: PreparedForm })[],
): Promise<StatementResult[]> {
  const answers: StatementResult[] = [];
  let rows: Record<string, unknown>[] = [];
  /** Of a value that could not be read. The rest is waited for, or it would be taken for the answer to what comes next. */
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
      handleRowDescription: (description) => setResultColumns(bound[answers.length]!.form, description),
      handleDataRow({ fields }) {
        const { columns, emptyRow } = bound[answers.length]!.form;
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
      handleEmptyQuery: () => answers.push({ command: "", rows: [], rowCount: 0 }),
      handleCommandComplete({ text }) {
        answers.push({ command: text, rows, rowCount: Number(text.slice(text.lastIndexOf(" ") + 1)) || 0 });
        rows = [];
      },
      callback(error) {
        if (error) reject(error);
      },
      handleReadyForQuery() {
        this.callback!(problem);
        resolve(answers);
      },
      handleError(error) {
        this.callback!(error);
      },
    });
  });
}
