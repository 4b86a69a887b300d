import { prepared, type Tx } from "./database.ts";

// The only statement that asks the server for its time: to compare it with ours.
const FACTS = prepared("server_facts", "select current_setting('server_version') as version, clock_timestamp() as now");

/** The server's version and what time it thinks it is. */
export async function readServerFacts(tx: Tx) {
  return (await tx.run<{ version: string; now: Date }>(FACTS)).rows[0]!;
}
