import pg from "pg";
import type { CopyTransaction } from "../lab/studies/twin-tables.ts";
import type { Address } from "../src/postgres/database.ts";

interface CopyConnection extends pg.Connection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** As one query, and therefore in one transaction. */
export const copyIn = (client: pg.Client, { sql, data }: CopyTransaction): Promise<void> =>
  new Promise((resolve, reject) => {
    const waiting = data.values();
    let problem: Error | undefined;
    client.query({
      submit: (connection: pg.Connection) => connection.query(sql),
      handleCopyInResponse(connection: CopyConnection) {
        connection.sendCopyFromChunk(waiting.next().value!);
        connection.endCopyFrom();
      },
      handleCommandComplete() {},
      handleError(error: Error) {
        problem = error;
        reject(error);
      },
      handleReadyForQuery() {
        if (!problem) resolve();
      },
    } as pg.Submittable);
  });

export async function connectTo(address: Address): Promise<pg.Client> {
  if (!("socketDir" in address)) throw new Error("the benchmark has an embedded server");
  const { socketDir, user, database } = address;
  const client = new pg.Client({ host: socketDir, port: 5432, ssl: false, user, database });
  await client.connect();
  return client;
}
