import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type RecoveryAction } from "#sdk";
import { createScratchSettings } from "../../../bench/scratch-database.ts";
import { integerBetween, keyedRandom } from "../../../simulator/world/keyed-random.ts";
import { createApiKey } from "../../../src/auth/api-keys.ts";
import { createMerchant } from "../../../src/merchants/merchant-settings.ts";
import { start } from "../../../src/start.ts";
import { type CampaignOptions, type CampaignResult, type CampaignStage, runCampaign } from "../harness/campaign.ts";
import { openPostgresProcesses } from "../harness/postgres-processes.ts";
import { formatRow } from "../harness/summary.ts";
import { startExecutions } from "./executions.ts";

export interface SyncCampaignOptions extends CampaignOptions {
  kills: number;
  perSecond: number;
}

/** How long a copier lives after its first output: often too short for a page. */
const PROCESS_LIFE_MS = [0, 600] as const;
/** After this long without a new action the copier is stuck. */
const STUCK_MS = 60_000;

/** Keeps a copy of a service that executes actions, with a program that is killed repeatedly, and compares both at the end. */
export const runSyncCampaign = (options: SyncCampaignOptions): Promise<CampaignResult> =>
  runCampaign(options, (stage) => runStage(options, stage));

async function runStage(
  { seed, kills, perSecond, print }: SyncCampaignOptions,
  { root, ends, problems, broken }: CampaignStage,
): Promise<string[]> {
  print(`seed ${seed}: ${kills} kills, ${perSecond} actions a second`);
  const { settings, log } = await createScratchSettings({}, join(root, "service"));
  ends.push(() => openPostgresProcesses(settings.dataDir).aim(true).fire());
  const running = await start({
    settings,
    roles: new Set(["api"]),
    log,
    onFatal: (error) => broken("I12", error.message),
  });
  ends.push(running.stop);
  const { db, ports, secretKeys } = running.store;
  const merchant = await createMerchant(db, "Copied", {}, secretKeys, ports);
  const permissions = ["read:recovery_actions"] as const;
  const { apiKey } = await createApiKey(db, { merchantId: merchant.id, permissions }, ports);
  const ca = running.caPath!;
  const file = join(settings.dataDir, "copy.sqlite");
  const executions = await startExecutions(running.store, merchant.id, perSecond, seed);
  const copying = async () => {
    const copier = await startCopier([settings.baseUrl, apiKey, ca, file]);
    ends.push(copier.kill);
    return copier;
  };
  for (let n = 0; n < kills && problems.length === 0; n++) {
    const copier = await copying();
    await sleep(integerBetween(keyedRandom(seed, "life", n), ...PROCESS_LIFE_MS));
    if (!(await copier.kill())) broken("copy", `copier ${n + 1} ended by itself: ${copier.errors()}`);
  }
  const { executed, perSecond: reached } = await executions.stop();
  const last = await copying();
  await waitUntilCaughtUp(file, executed);
  // A surplus action would come now.
  await sleep(300);
  if (!(await last.kill())) broken("copy", `the last copier ended by itself: ${last.errors()}`);
  if (executed < perSecond) broken("the run", `only ${executed} actions were executed`);
  const original = await listOriginal(settings.baseUrl, apiKey, readFileSync(ca, "utf8"));
  for (const says of findDifferences(readCopy(file), original)) broken("copy", says);
  return ["", formatRow("actions", [executed, "executed"], [Math.round(reached), "a second"], [kills, "kills"])];
}

async function startCopier(words: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, "sync-copier.ts"), ...words], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let errors = "";
  child.stderr!.on("data", (chunk) => {
    errors += chunk;
  });
  await Promise.race([once(child, "message"), once(child, "exit")]);
  return {
    errors: () => errors,
    /** @returns false if it had already ended */
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return false;
      child.kill("SIGKILL");
      await once(child, "exit");
      return child.signalCode === "SIGKILL";
    },
  };
}

/** Resolves when the copy has so many actions, or no more come. */
async function waitUntilCaughtUp(file: string, count: number) {
  const db = new DatabaseSync(file, { readOnly: true });
  const counting = db.prepare("select count(*) as copied from actions");
  let best = -1;
  for (let sinceMs = performance.now(); performance.now() - sinceMs < STUCK_MS; await sleep(200)) {
    const copied = Number(counting.get()!.copied);
    if (copied > best) sinceMs = performance.now();
    best = Math.max(best, copied);
    if (best >= count) break;
  }
  db.close();
}

/** Returns the actions that the copier has stored, in the order of arrival. */
function readCopy(file: string): RecoveryAction[] {
  if (!existsSync(file)) return [];
  const db = new DatabaseSync(file);
  const rows = db.prepare("select action from actions order by place").all();
  db.close();
  return rows.map(({ action }) => JSON.parse(String(action)));
}

/** Lists the executed actions of the service, newest first. */
async function listOriginal(baseUrl: string, apiKey: string, ca: string): Promise<RecoveryAction[]> {
  const client = createClient({ baseUrl, apiKey, ca });
  const actions: RecoveryAction[] = [];
  for await (const action of client.recoveryActions.list({ orderBy: "executed_at" })) actions.push(action);
  client.close();
  return actions.reverse();
}

function findDifferences(copied: readonly RecoveryAction[], listed: readonly RecoveryAction[]): string[] {
  const problems = copied.length === listed.length ? [] : [`${copied.length} were copied of ${listed.length}`];
  const place = listed.findIndex((action, n) => JSON.stringify(action) !== JSON.stringify(copied[n]));
  if (place >= 0)
    problems.push(`at ${place}: ${JSON.stringify(copied[place])} in the copy, ${JSON.stringify(listed[place])} listed`);
  return problems;
}
