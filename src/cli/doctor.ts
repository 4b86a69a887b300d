import { X509Certificate } from "node:crypto";
import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { createMailer } from "../auth/mail.ts";
import { createOidc } from "../auth/oidc.ts";
import { parseAllowList } from "../delivery/https/address-guard.ts";
import { createSender } from "../delivery/https/https-sender.ts";
import { daysUntilExpiry, readFreeBytes } from "../metrics/service-figures.ts";
import { addStoreMetrics } from "../metrics/store-metrics.ts";
import { DATABASE_ROLES, listRoleStatements, readTenantIsolation } from "../postgres/roles.ts";
import { readServerFacts } from "../postgres/server-facts.ts";
import { listMerchants } from "../tables/merchants.ts";
import { unseal } from "../tables/secret-box.ts";
import { type Command, type CommandContext, EXIT_CODES, type OpenedDatabase } from "./command.ts";
import { createFinding, type Finding } from "./doctor-finding.ts";
import { checkProcesses } from "./doctor-processes.ts";
import { checkConnectionPool, checkEmbeddedServer, checkService } from "./doctor-service.ts";
import { describeEndpointAdvice } from "./endpoint-state.ts";
import { describeUnreachableDatabase } from "./unreachable-database.ts";

const GIB = 2 ** 30;

/** `dunlin doctor`: looks at everything the service needs, and says how to mend what is wrong. */
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
      for (const { verdict, what, says } of findings) context.print(`${verdict.padEnd(5)} ${what.padEnd(12)} ${says}`);
    return findings.some(({ verdict }) => verdict === "fail") ? EXIT_CODES.failed : EXIT_CODES.ok;
  },
};

async function checkSignIn({ settings: { oidc, authUrl } }: CommandContext): Promise<Finding[]> {
  if (oidc === null) return [];
  const to = await createOidc(oidc, new URL(authUrl).origin, () => 0).authorizationUrl("doctor");
  if ("url" in to) return [createFinding("ok", "provider", `${oidc.name} answers`)];
  const { cause, message } = to.error as Error;
  const why = cause instanceof Error ? cause.message : message;
  return [createFinding("warn", "provider", `${oidc.issuer} is ${to.trouble}: ${why}. Nobody can sign in with it.`)];
}

async function checkMail({ settings }: CommandContext): Promise<Finding[]> {
  if (settings.mail === null) return [];
  const problem = await createMailer(settings.mail).check();
  return [
    problem === null
      ? createFinding("ok", "mail", "the server takes mail")
      : createFinding("warn", "mail", `${problem}. Invites are handed on as links.`),
  ];
}

function checkDataFolder({ settings: { dataDir } }: CommandContext): Finding[] {
  if (!existsSync(dataDir))
    return [createFinding("warn", "data", `${dataDir} does not exist yet; the first start makes it.`)];
  try {
    accessSync(dataDir, constants.W_OK);
  } catch {
    return [createFinding("fail", "data", `${dataDir} can't be written. Give it to the user that runs dunlin.`)];
  }
  const free = readFreeBytes(dataDir) / GIB;
  const space = `${free.toFixed(1)} GiB free in ${dataDir}`;
  const key = join(dataDir, "secret.key");
  const open = existsSync(key) && (statSync(key).mode & 0o077) !== 0;
  return [
    createFinding(free < 0.2 ? "fail" : free < 2 ? "warn" : "ok", "disk", space),
    ...(open ? [createFinding("fail", "secret.key", `others can read it. Run: chmod 600 ${key}`)] : []),
  ];
}

function checkCertificate({ settings, realNow }: CommandContext): Finding[] {
  if (settings.tls === "proxy") return [createFinding("ok", "certificate", "a proxy in front ends TLS")];
  const path = join(settings.dataDir, "tls", "cert.pem");
  const pem = settings.certificate?.cert ?? (existsSync(path) ? readFileSync(path, "utf8") : null);
  if (pem === null) return [createFinding("warn", "certificate", "none yet; the first start makes one")];
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

/** Endpoints that ask for a certificate refuse one that has expired. */
function checkClientCertificate({ settings, realNow }: CommandContext): Finding[] {
  if (settings.webhookClientCertificate === null) return [];
  const days = Math.floor(daysUntilExpiry(settings.webhookClientCertificate.cert, realNow()));
  return [createFinding(days < 14 ? "warn" : "ok", "client cert", `of webhooks, ${days} days left`)];
}

async function checkDatabase(context: CommandContext): Promise<Finding[]> {
  let opened: OpenedDatabase;
  try {
    opened = await context.open();
  } catch (error) {
    return [
      createFinding(
        "fail",
        "database",
        describeUnreachableDatabase(error, context.settings) ?? (error as Error).message,
      ),
    ];
  }
  try {
    const { db, ports, clock } = opened;
    const startedMs = ports.monotonicMs();
    const facts = await readServerFacts(db);
    const ms = ports.monotonicMs() - startedMs;
    const skewS = Math.abs(clock.figures().offsetMs) / 1000;
    return [
      createFinding(ms > 50 ? "warn" : "ok", "database", `PostgreSQL ${facts.version}, answers in ${ms.toFixed(1)} ms`),
      ...checkEmbeddedServer(context),
      skewS === 0
        ? createFinding("ok", "clock", "agrees with the database's")
        : createFinding(
            skewS > 30 ? "fail" : "warn",
            "clock",
            `${skewS.toFixed(1)} s apart from the database's, which is used. Let both machines take their time from one source.`,
          ),
      ...(ports.clockRate === 1
        ? []
        : [createFinding("warn", "clock rate", `service time runs ${ports.clockRate} times as fast`)]),
      ...(await checkService(addStoreMetrics(opened, context.settings, null))),
      ...(await checkConnectionPool(context)),
      await checkTenantIsolation(opened),
      ...(await checkProcesses(db, ports.realNow())),
      ...(await checkEndpoints(context, opened)),
    ];
  } finally {
    await opened.close();
  }
}

/** Checks the row-level security that isolates merchants if a statement forgets its merchant. */
async function checkTenantIsolation({ db }: OpenedDatabase): Promise<Finding> {
  const { login, bypassesRowSecurity: isAbove, unprotectedTables: open } = await readTenantIsolation(db);
  if (open.length > 0) return createFinding("fail", "wall", `row-level security is off on ${open.join(", ")}`);
  const statements = await listRoleStatements(db);
  if (statements.length === 0)
    return createFinding("ok", "wall", `between merchants: row-level security, as ${DATABASE_ROLES.join(" and ")}`);
  const mend = `Let a superuser run: ${statements.join("; ")}; then restart the service.`;
  return isAbove
    ? createFinding("fail", "wall", `none between merchants: row-level security does not hold for ${login}. ${mend}`)
    : createFinding(
        "warn",
        "wall",
        `${login} owns the tables and works as their owner, behind row-level security. ${mend}`,
      );
}

/** Sent without a credential and with a body that is no event: one that is there refuses it, and may do so by any status but these. */
const isRefusal = (status: number) =>
  status >= 500 || (status >= 300 && status < 400) || [404, 405, 410].includes(status);

/** Checks the state and the answer of each merchant's endpoint. */
async function checkEndpoints(
  { settings }: CommandContext,
  { db, ports, secretKeys }: OpenedDatabase,
): Promise<Finding[]> {
  const sender = createSender({
    allow: parseAllowList(settings.webhookAllow),
    extraCa: settings.webhookCa,
    clientCertificate: settings.webhookClientCertificate,
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
    if (merchant.shadow) findings.push(createFinding("warn", "shadow mode", `${name}: decides, and asks for nothing`));
    if (advice !== null)
      findings.push(createFinding(merchant.webhookPausedBy === "dunlin" ? "fail" : "warn", what, advice));
    if (webhookUrl === null) {
      findings.push(
        createFinding("warn", what, `${name} has none. Set it: npx dunlin merchant set ${id} --webhook-url …`),
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
          `${name}: the secret key changed, so its credential or secret can't be read. Set it again.`,
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
        ? createFinding("warn", what, `${answers}. Would it take an event? See: npx dunlin webhook test ${id}`)
        : createFinding("ok", what, answers),
    );
  }
  sender.close();
  return findings;
}

/** Whether the API answers where DUNLIN_PORT says, by our own certificate authority if it is ours. */
function checkApi({ settings }: CommandContext): Promise<Finding> {
  const caPath = join(settings.dataDir, "tls", "ca.pem");
  const ca = settings.certificate === null && existsSync(caPath) ? readFileSync(caPath, "utf8") : undefined;
  const url = `${settings.baseUrl}/readyz`;
  return new Promise((resolve) => {
    const asked = request(url, { timeout: 5_000, ...(ca ? { ca } : {}) }, (reply) => {
      reply.resume();
      resolve(createFinding(reply.statusCode === 200 ? "ok" : "fail", "api", `${url} answers ${reply.statusCode}`));
    });
    asked.on("timeout", () => asked.destroy(new Error("no answer within 5 s")));
    asked.on("error", (error: NodeJS.ErrnoException) => {
      const isUnknown = /^(DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|UNABLE_TO_)/.test(error.code ?? "");
      const says = isUnknown
        ? "its certificate is of an authority that doctor does not know. To check it, run doctor with NODE_EXTRA_CA_CERTS=FILE, the authority's PEM file."
        : `${error.message}. Is "npx dunlin serve" running?`;
      resolve(createFinding("warn", "api", `${url}: ${says}`));
    });
    asked.end();
  });
}
