import { cp, mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { type Address, prepared, type Tx } from "../src/postgres/database.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { removeAtExit } from "./test-server.ts";

const log = pino({ level: "silent" });
const FOLDER = join(import.meta.dirname, "../migrations");

/** Migrates a database to the schema after migration `last`, or to the newest one. Returns how many migrations were applied. */
export async function migrateTo(address: Address, last = Number.POSITIVE_INFINITY): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "dunlin-upgrade-"));
  removeAtExit(folder);
  for (const name of await readdir(FOLDER))
    if (Number(name.slice(0, 4)) <= last) await cp(join(FOLDER, name), join(folder, name));
  return (await migrate(address, log, { folder, allowDataLoss: true })).applied;
}

/** Creates a database without any schema. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await database.db.run(prepared("", "drop schema public cascade; create schema public"));
  return database;
}

/** The last of the migrations that the baseline replaced, as a database of 0.2.0 has it. */
export const LAST_OF_0_2_0 = {
  number: 40,
  name: "0040_explore.sql",
  checksum: "42bf71a87a80d1a6aa2b83da3d04ee852cafd61f5e5e855a7812586a8d33275d",
};

/** Rewrites the history of migrations to that of a database created by 0.2.0 or earlier. */
export async function pretendHistory({ db }: { db: Tx }, last: { number: number; name: string; checksum: string }) {
  await db.run(prepared("", "delete from schema_migrations"));
  for (let number = 1; number <= last.number; number++) {
    const { name, checksum } = number === last.number ? last : { name: `${number}.sql`, checksum: String(number) };
    await db.run(
      prepared(
        "pretend_migration",
        "insert into schema_migrations (number, name, checksum, applied_at) values ($1, $2, $3, now())",
      ),
      [number, name, checksum],
    );
  }
}
