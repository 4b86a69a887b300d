import { cp, mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { type Address, prepared } from "../src/postgres/database.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { removeAtExit } from "./test-server.ts";

const log = pino({ level: "silent" });
const FOLDER = join(import.meta.dirname, "../migrations");

/** Brings a database to the schema after migration `last`, or to the newest one; returns how many migrations were applied. */
export async function migrateTo(address: Address, last = Number.POSITIVE_INFINITY): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "dunlin-upgrade-"));
  removeAtExit(folder);
  for (const name of await readdir(FOLDER))
    if (Number(name.slice(0, 4)) <= last) await cp(join(FOLDER, name), join(folder, name));
  return (await migrate(address, log, { folder, allowDataLoss: true })).applied;
}

/** A database of one's own without any schema. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await database.db.run(prepared("", "drop schema public cascade; create schema public"));
  return database;
}
