import { prepared, type Tx } from "./database.ts";

// The only statement that reads the server's clock, to compare it with ours.
const FACTS = prepared("server_facts", "select current_setting('server_version') as version, clock_timestamp() as now");

export async function readServerFacts(tx: Tx) {
  return (await tx.run<{ version: string; now: Date }>(FACTS)).rows[0]!;
}
