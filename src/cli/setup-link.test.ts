import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import { findValidInvite } from "../auth/invites.ts";
import type { Settings } from "../config/config.ts";
import type { RunningService } from "../start.ts";
import type { CommandContext } from "./command.ts";
import { setupInstructions } from "./setup-link.ts";

const ports = testPorts(testClock());
const dataDir = mkdtempSync(join(tmpdir(), "dunlin-setup-"));
const settings = { dataDir, authUrl: "https://dunlin.example" } as Settings;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
  await testMerchant(database.db, ports);
});
after(async () => {
  await database.drop();
  rmSync(dataDir, { recursive: true });
});

const start = (isTerminal: boolean) =>
  setupInstructions(
    { isTerminal } as CommandContext,
    { store: { db: database.db, ports } } as RunningService,
    settings,
  );
const isOpen = async (link: string) =>
  (await findValidInvite(database.db, /t=(\S+)/.exec(link)![1]!, ports))?.role === "owner";

test("each start creates a new set-up link and invalidates the previous one", async () => {
  const first = (await start(true))!;
  assert.match(first, /^https:\/\/dunlin\.example\/setup\?t=\S+ {3}\(once, within an hour\)$/);
  assert.ok(await isOpen(first));
  const second = (await start(true))!;
  assert.ok(await isOpen(second));
  assert.ok(!(await isOpen(first)));
});

test("the link goes to a file that only its owner can read when output is not a terminal", async () => {
  const words = (await start(false))!;
  const path = join(dataDir, "setup-link");
  assert.equal(words, `follow the link in ${path} within an hour`);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.ok(await isOpen(readFileSync(path, "utf8")));
});
