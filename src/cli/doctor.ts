import { X509Certificate } from "node:crypto";
import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { createMailer } from "../auth/mail.ts";
import { createOidc } from "../auth/oidc.ts";
import { createSender } from "../delivery/https/https-sender.ts";
import { daysUntilExpiry, readFreeBytes } from "../metrics/service-figures.ts";
import { addStoreMetrics } from "../metrics/store-metrics.ts";
import { DATABASE_ROLES, listRoleStatements, readTenantIsolation } from "../postgres/roles.ts";
import { readServerFacts } from "../postgres/server-facts.ts";
import { loadWebhookNetwork } from "../process/webhook-network.ts";
import { listMerchants } from "../tables/merchants.ts";
import { unseal } from "../tables/secret-box.ts";
import { type Command, type CommandContext, EXIT_CODES, type OpenedDatabase } from "./command.ts";
import { createFinding, type Finding } from "./doctor-finding.ts";
import { checkProcesses } from "./doctor-processes.ts";
import { checkConnectionPool, checkEmbeddedServer, checkService } from "./doctor-service.ts";
import { describeEndpointAdvice } from "./endpoint-state.ts";
import { describeUnreachableDatabase } from "./unreachable-database.ts";

const GIB = 2 ** 30;

export const doctor: Command = {
  name: "doctor",
  usage: "[--json]",
  summary: "Check settings, disk, database, clock, certificates, deciding, learning, API and merchants' endpoints",
  options: { json: { type: "boolean" } },
  positionals: [],
  examples: ["npx dunlin doctor"],
  async run(context, values) {
    const findings = [
      createFinding("ok", "settings", "no problems"),
      ...checkDataFolder(context),
      ...checkCertificate(context),
      ...checkClientCertificate(context),
    ];
    findings.push(
      ...(await checkDatabase(context)),
      await checkApi(context),
      ...(await checkSignIn(context)),
      ...(await checkMail(context)),
    );
    if (values.json) context.print(JSON.stringify(findings));
    else
      for (const { verdict, what, says } of findings) context.print(`${verdict.padEnd(5)} ${what.padEnd(16)} ${says}`);
    return findings.some(({ verdict }) => verdict === "fail") ? EXIT_CODES.failed : EXIT_CODES.ok;
  },
};

async function checkSignIn({ settings: { oidc, authUrl } }: CommandContext): Promise<Finding[]> {
  if (oidc === null) return [];
  const to = await createOidc(oidc, new URL(authUrl).origin, () => 0).authorizationUrl("doctor");
  if ("url" in to) return [createFinding("ok", "provider", `${oidc.name} answers`)];
  const { cause, message } = to.error as Error;
  const why = cause instanceof Error ? cause.message : message;
  return [createFinding("warn", "provider", `${oidc.issuer} is ${to.trouble}: ${why}. People cannot sign in with it.`)];
}

async function checkMail({ settings }: CommandContext): Promise<Finding[]> {
  if (settings.mail === null) return [];
  const problem = await createMailer(settings.mail).check();
  return [
    problem === null
      ? createFinding("ok", "mail", "the mail server accepts mail")
      : createFinding("warn", "mail", `${problem}. Until then, invites must be shared as links.`),
  ];
}

function checkDataFolder({ settings: { dataDir } }: CommandContext): Finding[] {
  if (!existsSync(dataDir))
    return [createFinding("warn", "data", `${dataDir} does not exist yet; the first start creates it.`)];
  try {
    accessSync(dataDir, constants.W_OK);
  } catch {
    return [createFinding("fail", "data", `${dataDir} is not writable. Give it to the user that runs Dunlin.`)];
  }
  const free = readFreeBytes(dataDir) / GIB;
  const space = `${free.toFixed(1)} GiB free in ${dataDir}`;
  const key = join(dataDir, "secret.key");
  const open = existsSync(key) && (statSync(key).mode & 0o077) !== 0;
  return [
    createFinding(free < 0.2 ? "fail" : free < 2 ? "warn" : "ok", "disk", space),
    ...(open ? [createFinding("fail", "secret.key", `other users can read it. Run: chmod 600 ${key}`)] : []),
  ];
}

function checkCertificate({ settings, realNow }: CommandContext): Finding[] {
  if (settings.tls === "proxy") return [createFinding("ok", "certificate", "a proxy terminates TLS")];
  const path = join(settings.dataDir, "tls", "cert.pem");
  const pem = settings.certificate?.cert ?? (existsSync(path) ? readFileSync(path, "utf8") : null);
  if (pem === null) return [createFinding("warn", "certificate", "none yet; the first start creates one")];
  const certificate = new X509Certificate(pem);
  const host = new URL(settings.baseUrl).hostname.replace(/^\[|\]$/g, "");
  const days = Math.floor(daysUntilExpiry(pem, realNow()));
  const covers = certificate.checkHost(host) ?? certificate.checkIP(host);
  return [
    covers
      ? createFinding(days < 0 ? "fail" : days < 14 ? "warn" : "ok", "certificate", `for ${host}, ${days} days left`)
      : createFinding("fail", "certificate", `does not cover ${host}, the host of DUNLIN_BASE_URL`),
  ];
}

/** Endpoints that require a client certificate refuse an expired one. */
function checkClientCertificate({ settings, realNow }: CommandContext): Finding[] {
  if (settings.webhookClientCertificate === null) return [];
  const days = Math.floor(daysUntilExpiry(settings.webhookClientCertificate.cert, realNow()));
  return [createFinding(days < 14 ? "warn" : "ok", "client cert", `for webhooks, ${days} days left`)];
}

const TIMED_READS = 3;

/** The shortest of a few reads, because a busy machine delays one by chance. */
async function timeServerFacts({ db, ports }: OpenedDatabase) {
  let shortestMs = Number.POSITIVE_INFINITY;
  for (let reads = 1; ; reads++) {
    const startedMs = ports.monotonicMs();
    const facts = await readServerFacts(db);
    shortestMs = Math.min(shortestMs, ports.monotonicMs() - startedMs);
    if (reads === TIMED_READS) return { facts, ms: shortestMs };
  }
}

async function checkDatabase(context: CommandContext): Promise<Finding[]> {
  let opened: OpenedDatabase | undefined;
  try {
    opened = await context.open();
    return await checkOpenedDatabase(context, opened);
  } catch (error) {
    const unreachable = describeUnreachableDatabase(error, context.settings);
    if (opened !== undefined && unreachable === null) throw error;
    return [createFinding("fail", "database", unreachable ?? (error as Error).message)];
  } finally {
    await opened?.close();
  }
}

async function checkOpenedDatabase(context: CommandContext, opened: OpenedDatabase): Promise<Finding[]> {
  const { db, ports, clock } = opened;
  const { facts, ms } = await timeServerFacts(opened);
  const skewS = Math.abs(clock.figures().offsetMs) / 1000;
  return [
    createFinding(ms > 50 ? "warn" : "ok", "database", `PostgreSQL ${facts.version}, answers in ${ms.toFixed(1)} ms`),
    ...checkEmbeddedServer(context),
    skewS === 0
      ? createFinding("ok", "clock", "matches the database clock")
      : createFinding(
          skewS > 30 ? "fail" : "warn",
          "clock",
          `differs from the database clock by ${skewS.toFixed(1)} s. Dunlin uses the database clock. Synchronize both machines with the same time source.`,
        ),
    ...(ports.clockRate === 1
      ? []
      : [createFinding("warn", "clock rate", `service time runs ${ports.clockRate} times as fast as real time`)]),
    ...(await checkService(addStoreMetrics(opened, context.settings, null))),
    ...(await checkConnectionPool(context)),
    await checkTenantIsolation(opened),
    ...(await checkProcesses(db, ports.realNow())),
    ...(await checkEndpoints(context, opened)),
  ];
}

/** Merchants must stay isolated even if a statement forgets its merchant. */
async function checkTenantIsolation({ db }: OpenedDatabase): Promise<Finding> {
  const { login, bypassesRowSecurity: isAbove, unprotectedTables: open } = await readTenantIsolation(db);
  const what = "tenant isolation";
  if (open.length > 0) return createFinding("fail", what, `off. Row-level security is off on ${open.join(", ")}`);
  const statements = await listRoleStatements(db);
  if (statements.length === 0)
    return createFinding("ok", what, `row-level security, as ${DATABASE_ROLES.join(" and ")}`);
  const fix = `As a superuser, run: ${statements.join("; ")}; then restart the service.`;
  return isAbove
    ? createFinding("fail", what, `off. Row-level security does not apply to the login "${login}". ${fix}`)
    : createFinding(
        "warn",
        what,
        `reduced. Dunlin runs as "${login}", which owns the tables, so isolation depends on a session setting. ${fix}`,
      );
}

/** The probe has no credential and no valid event, so any other refusal is expected. */
const isRefusal = (status: number) =>
  status >= 500 || (status >= 300 && status < 400) || [404, 405, 410].includes(status);

async function checkEndpoints(
  { settings }: CommandContext,
  { db, ports, secretKeys }: OpenedDatabase,
): Promise<Finding[]> {
  const sender = createSender({
    ...(await loadWebhookNetwork(settings, db)),
    monotonicMs: ports.monotonicMs,
  });
  const findings: Finding[] = [];
  const merchants = await listMerchants(db);
  for (const merchant of merchants) {
    const { id, webhookUrl, webhookCredential, webhookSecret } = merchant;
    const isOnly = merchants.filter((each) => each.name === merchant.name).length === 1;
    const name = isOnly ? merchant.name : `${merchant.name} (${id})`;
    const what = "endpoint";
    const advice = describeEndpointAdvice({ ...merchant, name });
    if (merchant.shadow)
      findings.push(
        createFinding(
          "warn",
          "shadow mode",
          `${name}: on. Dunlin logs decisions and sends no webhooks. To turn it off: npx dunlin merchant set ${id} --shadow no`,
        ),
      );
    if (advice !== null)
      findings.push(createFinding(merchant.webhookPausedBy === "dunlin" ? "fail" : "warn", what, advice));
    if (webhookUrl === null) {
      findings.push(
        createFinding(
          "warn",
          what,
          `${name} has no endpoint. To set one: npx dunlin merchant set ${id} --webhook-url …`,
        ),
      );
      continue;
    }
    try {
      for (const box of [webhookCredential, webhookSecret]) if (box) unseal(secretKeys, box);
    } catch {
      findings.push(
        createFinding(
          "fail",
          what,
          `${name}: the secret key changed, so its credential or signing secret cannot be decrypted. Set it again.`,
        ),
      );
      continue;
    }
    const { origin, pathname, search } = new URL(webhookUrl);
    const reply = await sender.send({ origin, path: pathname + search, authorization: null, body: "{}" });
    if (reply.outcome === "failed") {
      findings.push(createFinding("fail", what, `${name}: ${webhookUrl}: ${reply.error}`));
      continue;
    }
    const answers = `${name}: ${webhookUrl} answers (status ${reply.status} without a credential)`;
    findings.push(
      isRefusal(reply.status)
        ? createFinding("warn", what, `${answers}. To see whether it accepts events: npx dunlin webhook test ${id}`)
        : createFinding("ok", what, answers),
    );
  }
  sender.close();
  return findings;
}

/** Trusts Dunlin's own authority if Dunlin made the certificate. */
function checkApi({ settings }: CommandContext): Promise<Finding> {
  const caPath = join(settings.dataDir, "tls", "ca.pem");
  const ca = settings.certificate === null && existsSync(caPath) ? readFileSync(caPath, "utf8") : undefined;
  const url = `${settings.baseUrl}/readyz`;
  return new Promise((resolve) => {
    const call = request(url, { timeout: 5_000, ...(ca ? { ca } : {}) }, (reply) => {
      reply.resume();
      resolve(createFinding(reply.statusCode === 200 ? "ok" : "fail", "api", `${url} answers ${reply.statusCode}`));
    });
    call.on("timeout", () => call.destroy(new Error("no answer within 5 s")));
    call.on("error", (error: NodeJS.ErrnoException) => {
      const isUnknownAuthority = /^(DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|UNABLE_TO_)/.test(error.code ?? "");
      const says = isUnknownAuthority
        ? "an unknown authority signed its certificate. To check it, run doctor with NODE_EXTRA_CA_CERTS=FILE, the authority's PEM file."
        : `${error.message}. Is "npx dunlin serve" running?`;
      resolve(createFinding("warn", "api", `${url}: ${says}`));
    });
    call.end();
  });
}
