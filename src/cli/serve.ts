import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PERMISSIONS } from "../domain/permission.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { createMerchant } from "../merchants/merchant-settings.ts";
import { auditCreation } from "../merchants/settings-audit.ts";
import { UnknownMigration } from "../postgres/migrate.ts";
import { type Store, writeSecretFile } from "../process/open-store.ts";
import { ROLES, type Role, type RunningService } from "../start.ts";
import { startWhenReady } from "../start-when-ready.ts";
import { listMerchants, lockMerchantsTable } from "../tables/merchants.ts";
import { type Command, type CommandContext, durationOption, EXIT_CODES, textOption, UsageError } from "./command.ts";
import { createKey } from "./key-commands.ts";
import { setupInstructions } from "./setup-link.ts";

export const serve: Command = {
  name: "serve",
  usage: `[--roles ${ROLES.join(",")}] [--wait 60s]
  --wait D                 how long to wait at startup for the database (forever) and for a port in use (40s)`,
  summary: "Run the service: API, console and loops in one process, or only some of them",
  options: { roles: { type: "string" }, wait: { type: "string" } },
  positionals: [],
  logsTo: "stderr",
  examples: ["npx dunlin serve", "npx dunlin serve --roles api,decide"],
  async run(context, values) {
    const { settings, log, loggedProblems } = context;
    const roles = parseRoles(textOption(values, "roles"));
    let fatal: Error | null = null;
    const died = Promise.withResolvers<void>();
    const onFatal = (error: Error) => {
      fatal = error;
      died.resolve();
    };
    const waitMs = durationOption(values, "wait") ?? null;
    const running = await startWhenReady({ settings, roles, log, loggedProblems, onFatal }, { ...context, waitMs });
    if (!running) return EXIT_CODES.ok;
    await printWelcome(context, running, roles);
    await Promise.race([context.stopped, died.promise]);
    const isOutdated = (fatal as unknown) instanceof UnknownMigration;
    if (isOutdated) log.fatal({ why: fatal!.message }, "service.outdated");
    else if (fatal) log.fatal({ err: fatal }, "service.failed");
    else log.info("service.stopping");
    await running.stop();
    log.info("service.stopped");
    if (isOutdated) return EXIT_CODES.config;
    return fatal ? EXIT_CODES.failed : EXIT_CODES.ok;
  },
};

function parseRoles(list: string | undefined): ReadonlySet<Role> {
  if (list === undefined) return new Set(ROLES);
  return new Set(
    list.split(",").map((name) => {
      const role = ROLES.find((each) => each === name.trim());
      if (!role) throw new UsageError(`Unknown role "${name}". Available: ${ROLES.join(",")}`);
      return role;
    }),
  );
}

/** The first start also creates a merchant with a key. */
async function printWelcome(context: CommandContext, running: RunningService, roles: ReadonlySet<Role>) {
  const { settings, print } = context;
  const keyPath = join(settings.dataDir, "api-key");
  const apiKey = await createFirstApiKey(running.store, keyPath);
  const line = (name: string, value: string) => print(`  ${name.padEnd(9)} ${value}`);
  print(`dunlin is ready   data ${settings.dataDir}   database ${settings.databaseUrl ? "DATABASE_URL" : "embedded"}`);
  if (roles.has("api")) line("API", settings.baseUrl);
  if (running.caPath) line("CA file", running.caPath);
  if (roles.has("console")) {
    if (running.caPath)
      line("Browser", 'shows a certificate warning until it trusts the CA file: see "npx dunlin trust"');
    line("Console", settings.authUrl);
    const setup = await setupInstructions(context, running, settings);
    if (setup) line("Set up", setup);
  }
  if (existsSync(keyPath)) line("Key file", keyPath);
  if (apiKey && context.isTerminal) line("API key", `${apiKey}   (shown once; all permissions)`);
  if (settings.metricsPort !== null) line("Metrics", `http://${settings.metricsHost}:${settings.metricsPort}/metrics`);
  if (roles.has("api") && running.caPath && existsSync(keyPath)) {
    print("Try it:");
    print(
      `  curl --cacert ${running.caPath} -H "Authorization: Bearer $(cat ${keyPath})" ${settings.baseUrl}/v1/recovery_actions`,
    );
  }
}

/** With all permissions, if there is no merchant yet. Only the owner can read the key file. */
export async function createFirstApiKey(
  { db, ports, secretKeys }: Pick<Store, "db" | "ports" | "secretKeys">,
  keyPath: string,
): Promise<string | null> {
  return db.transaction(async (tx) => {
    await lockMerchantsTable(tx);
    if ((await listMerchants(tx)).length > 0) return null;
    const merchant = await createMerchant(tx, "My company", {}, secretKeys, ports);
    await auditCreation(tx, COMMAND_LINE_ACTOR, merchant, ports);
    const { apiKey } = await createKey(tx, { merchantId: merchant.id, permissions: PERMISSIONS }, ports);
    rmSync(keyPath, { force: true });
    writeSecretFile(keyPath, apiKey);
    return apiKey;
  });
}
