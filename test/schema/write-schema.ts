// `npm run generate` writes schema.sql; a test compares it with a new database.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../src/postgres/database.ts";
import { startTestServer, TEMPLATE_DATABASE, withDatabaseName } from "../test-server.ts";
import { readSchemaText } from "./schema-text.ts";

export const SCHEMA_FILE = join(import.meta.dirname, "../../schema.sql");

if (import.meta.main) {
  const server = await startTestServer();
  const db = openDatabase(withDatabaseName(server.address, TEMPLATE_DATABASE), 1, () => {});
  writeFileSync(SCHEMA_FILE, await readSchemaText(db));
  await db.close();
  await server.stop();
}
