import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "#sdk";
import { type DemoMerchantRun, startDemoMerchant } from "../../simulator/demo/start-demo-merchant.ts";
import type { Settings } from "../config/config.ts";
import { PERMISSIONS } from "../domain/permission.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { buildExplanation } from "../explain/answers.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { ensureLocalCertificate } from "../http/local-certificate.ts";
import { changeMerchant, createMerchant } from "../merchants/merchant-settings.ts";
import { auditCreation } from "../merchants/settings-audit.ts";
import { stopEmbedded } from "../postgres/embedded/start.ts";
import { demoFolderOf, type Store, writeSecretFile } from "../process/open-store.ts";
import { ROLES, type RunningService, start } from "../start.ts";
import { countAttemptsByEvent } from "../tables/delivery-counts.ts";
import { findMerchantTrainingState } from "../tables/learned-models.ts";
import { type Command, type CommandContext, CommandFailure, EXIT_CODES, integerOption } from "./command.ts";
import { compareLogs } from "./compare-logs.ts";
import { demoCommandPrefix, printDemoCommands } from "./demo-commands.ts";
import { runStripeDemo } from "./demo-stripe.ts";
import { createKey } from "./key-commands.ts";
import { setupInstructions } from "./setup-link.ts";

const DAY_S = 86_400;
/** By then every loop has seen that deliveries are paused. */
const PAUSE_WAIT_MS = 1_500;

export const demo: Command = {
  name: "demo",
  usage: `[--day-seconds 10] [--customers 200] [--seed 1] [--seconds N] [--stripe]
  --day-seconds S   real seconds for one day of service time (10)
  --seconds N       stop after N seconds (on Ctrl-C)
  --stripe          the merchant bills with a simulated Stripe account, which the connector serves`,
  summary: "Watch failed payments being recovered: the service and a demo merchant on a fast clock",
  options: {
    "day-seconds": { type: "string" },
    customers: { type: "string" },
    seed: { type: "string" },
    seconds: { type: "string" },
    stripe: { type: "boolean" },
  },
  positionals: [],
  logsTo: "file",
  examples: ["npx dunlin demo", "npx dunlin demo --seconds 120 --seed 7", "npx dunlin demo --stripe"],
  async run(context, values) {
    const rate = DAY_S / (integerOption(values, "day-seconds", 1, DAY_S) ?? 10);
    const customers = integerOption(values, "customers", 1, 100_000) ?? 200;
    const seed = integerOption(values, "seed", 0, 2 ** 31) ?? 1;
    const seconds = integerOption(values, "seconds", 1, 1_000_000);
    const demoSettings = await createDemoSettings(context, rate);
    if (values.stripe) return runStripeDemo(context, demoSettings, { rate, customers, seed, seconds });
    const tlsDir = join(demoSettings.dataDir, "tls");
    const tls = await ensureLocalCertificate(tlsDir, new URL(demoSettings.baseUrl).hostname, context.realNow());
    const webhookToken = context.randomBytes(24).toString("base64url");
    // The endpoint must listen first, because the service needs its address.
    let now = context.realNow;
    const shop = await startDemoMerchant({
      rate,
      customers,
      seed,
      tls,
      webhookToken,
      now: () => now(),
      print: context.print,
    });
    const settings = {
      ...demoSettings,
      webhookAllow: `127.0.0.1/32:${new URL(shop.webhookUrl).port}`,
      webhookCa: readFileSync(join(tlsDir, "ca.pem"), "utf8"),
    };
    let fatal: Error | null = null;
    const died = Promise.withResolvers<void>();
    let running: RunningService | null = null;
    try {
      running = await start({
        settings,
        roles: new Set(ROLES),
        log: context.log,
        loggedProblems: context.loggedProblems,
        onFatal(error) {
          fatal = error;
          died.resolve();
        },
      });
      now = running.store.ports.now;
      const merchantId = await startMerchant(context, running, settings, shop, webhookToken);
      context.print(
        `Clock        one day takes ${Math.round((DAY_S / rate) * 10) / 10} s   Ctrl-C stops and prints a summary`,
      );
      context.print("");
      await Promise.race([context.stopped, died.promise, ...(seconds ? [sleep(seconds * 1000)] : [])]);
      await printSummary(context, running, shop, merchantId);
    } finally {
      await shop.stop();
      await running?.stop();
    }
    if (fatal) throw new CommandFailure(`The service stopped: ${(fatal as Error).message}`);
    return EXIT_CODES.ok;
  },
};

/** Its own folder and database: the demo never touches real data. */
async function createDemoSettings({ settings, print, log }: CommandContext, rate: number): Promise<Settings> {
  const dataDir = demoFolderOf(settings.dataDir);
  const markerPath = join(dataDir, "made-by-demo");
  if (existsSync(dataDir)) {
    if (!existsSync(markerPath))
      throw new CommandFailure(`The demo would empty ${dataDir}, but did not create it. Move or rename that folder.`);
    await stopEmbedded(join(dataDir, "postgres"), log);
    rmSync(dataDir, { recursive: true });
    print(`Deleted      data of the previous demo in ${dataDir}`);
  }
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(markerPath, "Each start of the demo empties this folder.\n");
  return { ...settings, dataDir, databaseUrl: null, clockRate: rate };
}

async function startMerchant(
  context: CommandContext,
  running: RunningService,
  settings: Settings,
  shop: DemoMerchantRun,
  token: string,
) {
  const { store, caPath } = running;
  const { db, ports, secretKeys } = store;
  const merchant = await createMerchant(
    db,
    "Harbor Coffee Club",
    { webhookUrl: shop.webhookUrl, credential: { auth: "bearer", secret: token } },
    secretKeys,
    ports,
  );
  await auditCreation(db, COMMAND_LINE_ACTOR, merchant, ports);
  const { apiKey } = await createKey(db, { merchantId: merchant.id, permissions: PERMISSIONS }, ports);
  const keyPath = join(settings.dataDir, "api-key");
  writeSecretFile(keyPath, apiKey);
  context.print(`Dunlin       ${settings.baseUrl}   data ${settings.dataDir}`);
  if (caPath) context.print(`CA file      ${caPath}`);
  context.print(`Key file     ${keyPath}`);
  const setup = await setupInstructions(context, running, settings);
  if (setup && caPath)
    context.print(
      `Browser      shows a certificate warning; to remove it: ${demoCommandPrefix(context.settings)} trust`,
    );
  if (setup) context.print(`Console      ${setup}`);
  printDemoCommands(context);
  context.print(`Merchant     ${merchant.name}, webhooks to ${shop.webhookUrl}`);
  const ca = caPath ? readFileSync(caPath, "utf8") : undefined;
  shop.start(createClient({ baseUrl: settings.baseUrl, apiKey, ...(ca ? { ca } : {}) }));
  return merchant.id;
}

/** Pauses deliveries, so that both logs stand still. */
async function printSummary(
  { print, settings }: CommandContext,
  { store }: RunningService,
  shop: DemoMerchantRun,
  merchantId: string,
) {
  const { db, ports, secretKeys } = store;
  await shop.stopBilling();
  await changeMerchant(db, merchantId, { webhookPaused: true }, secretKeys, ports);
  await sleep(PAUSE_WAIT_MS);
  const comparison = await compareLogs(shop.journal, () => countAttemptsByEvent(db, merchantId));
  await shop.stop();
  const learning = await learningLines(shop, store, merchantId, settings);
  for (const line of [...shop.summaryLines(), ...comparison, executedLine(shop), ...learning]) print(line);
}

const EXPLAINED_QUESTIONS = ["History", "Compared with six evenly spaced retries", "How Dunlin chose"];

async function learningLines(shop: DemoMerchantRun, { db, ports }: Store, merchantId: string, settings: Settings) {
  const learned = await findMerchantTrainingState(db, merchantId);
  const lines = [`Learning: the model has trained on ${learned?.lessons ?? 0} outcomes so far.`];
  const invoiceId = shop.executed().actions.findLast(({ type }) => type === "RECOVERY_ACTION_TYPE_RETRY")?.invoiceId;
  const explained = invoiceId === undefined ? null : await loadExplainedCase(db, merchantId, invoiceId, ports.now());
  if (!explained) return lines;
  lines.push("Part of the explanation of one invoice. To see all of it, run:");
  lines.push(`  ${demoCommandPrefix(settings)} explain ${invoiceId}`);
  for (const { question, answer } of buildExplanation(explained))
    if (EXPLAINED_QUESTIONS.includes(question)) lines.push(`  ${question}`, ...answer.map((line) => `    ${line}`));
  return lines;
}

function executedLine(shop: DemoMerchantRun): string {
  const { actions, unknown } = shop.executed();
  if (unknown.length > 0)
    return `The merchant has no attempt for these actions: ${unknown.map(({ id }) => id).join(", ")}.`;
  return `Actions: ${actions.length} were executed, and the merchant has an attempt for each.`;
}
