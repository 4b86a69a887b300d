import { X509Certificate } from "node:crypto";
import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { createMailer } from "../auth/mail.ts";
import { createOidc } from "../auth/oidc.ts";
import { parseAllow } from "../delivery/https/address-guard.ts";
import { createSender } from "../delivery/https/send.ts";
import { daysLeft, freeBytesOf } from "../service-figures.ts";
import { listMerchants } from "../store/merchants.ts";
import { ROLES, statementsForRoles, wallFacts } from "../store/roles.ts";
import { unseal } from "../store/secret-box.ts";
import { serverFacts } from "../store/server-facts.ts";
import { watchStore } from "../watch-store.ts";
import { type Command, type Context, EXIT, type Opened } from "./command.ts";
import { type Finding, finding } from "./doctor-finding.ts";
import { embeddedFinding, poolFindings, serviceFindings } from "./doctor-service.ts";
import { endpointAdvice } from "./endpoint-words.ts";
import { processFindings } from "./process-findings.ts";
import { unreachable } from "./unreachable.ts";

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
      finding("ok", "settings", "no problems"),
      ...dataFolder(context),
      ...certificate(context),
      ...clientCertificate(context),
    ];
    findings.push(
      ...(await database(context)),
      await api(context),
      ...(await signIn(context)),
      ...(await mail(context)),
    );
    if (values.json) context.print(JSON.stringify(findings));
    else
      for (const { verdict, what, says } of findings) context.print(`${verdict.padEnd(5)} ${what.padEnd(12)} ${says}`);
    return findings.some(({ verdict }) => verdict === "fail") ? EXIT.failed : EXIT.ok;
  },
};

async function signIn({ settings: { oidc, authUrl } }: Context): Promise<Finding[]> {
  if (oidc === null) return [];
  const to = await createOidc(oidc, new URL(authUrl).origin, () => 0).authorizationUrl("doctor");
  if ("url" in to) return [finding("ok", "provider", `${oidc.name} answers`)];
  const { cause, message } = to.error as Error;
  const why = cause instanceof Error ? cause.message : message;
  return [finding("warn", "provider", `${oidc.issuer} is ${to.trouble}: ${why}. Nobody can sign in with it.`)];
}

async function mail({ settings }: Context): Promise<Finding[]> {
  if (settings.mail === null) return [];
  const problem = await createMailer(settings.mail).check();
  return [
    problem === null
      ? finding("ok", "mail", "the server takes mail")
      : finding("warn", "mail", `${problem}. Invites are handed on as links.`),
  ];
}

function dataFolder({ settings: { dataDir } }: Context): Finding[] {
  if (!existsSync(dataDir))
    return [finding("warn", "data", `${dataDir} does not exist yet; the first start makes it.`)];
  try {
    accessSync(dataDir, constants.W_OK);
  } catch {
    return [finding("fail", "data", `${dataDir} can't be written. Give it to the user that runs dunlin.`)];
  }
  const free = freeBytesOf(dataDir) / GIB;
  const space = `${free.toFixed(1)} GiB free in ${dataDir}`;
  const key = join(dataDir, "secret.key");
  const open = existsSync(key) && (statSync(key).mode & 0o077) !== 0;
  return [
    finding(free < 0.2 ? "fail" : free < 2 ? "warn" : "ok", "disk", space),
    ...(open ? [finding("fail", "secret.key", `others can read it. Run: chmod 600 ${key}`)] : []),
  ];
}

function certificate({ settings, realNow }: Context): Finding[] {
  if (settings.tls === "proxy") return [finding("ok", "certificate", "a proxy in front ends TLS")];
  const path = join(settings.dataDir, "tls", "cert.pem");
  const pem = settings.certificate?.cert ?? (existsSync(path) ? readFileSync(path, "utf8") : null);
  if (pem === null) return [finding("warn", "certificate", "none yet; the first start makes one")];
  const certificate = new X509Certificate(pem);
  const host = new URL(settings.baseUrl).hostname.replace(/^\[|\]$/g, "");
  const days = Math.floor(daysLeft(pem, realNow()));
  const covers = certificate.checkHost(host) ?? certificate.checkIP(host);
  return [
    covers
      ? finding(days < 0 ? "fail" : days < 14 ? "warn" : "ok", "certificate", `for ${host}, ${days} days left`)
      : finding("fail", "certificate", `does not cover ${host}, the host of DUNLIN_BASE_URL`),
  ];
}

/** Endpoints that ask for a certificate refuse one that has expired. */
function clientCertificate({ settings, realNow }: Context): Finding[] {
  if (settings.webhookClientCertificate === null) return [];
  const days = Math.floor(daysLeft(settings.webhookClientCertificate.cert, realNow()));
  return [finding(days < 14 ? "warn" : "ok", "client cert", `of webhooks, ${days} days left`)];
}

async function database(context: Context): Promise<Finding[]> {
  let opened: Opened;
  try {
    opened = await context.open();
  } catch (error) {
    return [finding("fail", "database", unreachable(error, context.settings) ?? (error as Error).message)];
  }
  try {
    const { db, ports, clock } = opened;
    const startedMs = ports.monotonicMs();
    const facts = await serverFacts(db);
    const ms = ports.monotonicMs() - startedMs;
    const skewS = Math.abs(clock.figures().offsetMs) / 1000;
    return [
      finding(ms > 50 ? "warn" : "ok", "database", `PostgreSQL ${facts.version}, answers in ${ms.toFixed(1)} ms`),
      ...embeddedFinding(context),
      skewS === 0
        ? finding("ok", "clock", "agrees with the database's")
        : finding(
            skewS > 30 ? "fail" : "warn",
            "clock",
            `${skewS.toFixed(1)} s apart from the database's, which is used. Let both machines take their time from one source.`,
          ),
      ...(ports.clockRate === 1
        ? []
        : [finding("warn", "clock rate", `service time runs ${ports.clockRate} times as fast`)]),
      ...(await serviceFindings(watchStore(opened, context.settings, null))),
      ...(await poolFindings(context)),
      await wall(opened),
      ...(await processFindings(db, ports.realNow())),
      ...(await endpoints(context, opened)),
    ];
  } finally {
    await opened.close();
  }
}

/** Checks the row-level security that isolates merchants if a statement forgets its merchant. */
async function wall({ db }: Opened): Promise<Finding> {
  const { login, isAbove, open } = await wallFacts(db);
  if (open.length > 0) return finding("fail", "wall", `row-level security is off on ${open.join(", ")}`);
  const statements = await statementsForRoles(db);
  if (statements.length === 0)
    return finding("ok", "wall", `between merchants: row-level security, as ${ROLES.join(" and ")}`);
  const mend = `Let a superuser run: ${statements.join("; ")}; then restart the service.`;
  return isAbove
    ? finding("fail", "wall", `none between merchants: row-level security does not hold for ${login}. ${mend}`)
    : finding("warn", "wall", `${login} owns the tables and works as their owner, behind row-level security. ${mend}`);
}

/** Sent without a credential and with a body that is no event: one that is there refuses it, and may do so by any status but these. */
const takesNothing = (status: number) =>
  status >= 500 || (status >= 300 && status < 400) || [404, 405, 410].includes(status);

/** Checks the state and the answer of each merchant's endpoint. */
async function endpoints({ settings }: Context, { db, ports, secretKeys }: Opened): Promise<Finding[]> {
  const sender = createSender({
    allow: parseAllow(settings.webhookAllow),
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
    const advice = endpointAdvice({ ...merchant, name });
    if (merchant.shadow) findings.push(finding("warn", "shadow mode", `${name}: decides, and asks for nothing`));
    if (advice !== null) findings.push(finding(merchant.webhookPausedBy === "dunlin" ? "fail" : "warn", what, advice));
    if (webhookUrl === null) {
      findings.push(finding("warn", what, `${name} has none. Set it: npx dunlin merchant set ${id} --webhook-url …`));
      continue;
    }
    try {
      for (const box of [webhookCredential, webhookSecret]) if (box) unseal(secretKeys, box);
    } catch {
      findings.push(
        finding(
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
      findings.push(finding("fail", what, `${name}: ${webhookUrl}: ${reply.error}`));
      continue;
    }
    const answers = `${name}: ${webhookUrl} answers (status ${reply.status} without a credential)`;
    findings.push(
      takesNothing(reply.status)
        ? finding("warn", what, `${answers}. Would it take an event? See: npx dunlin webhook test ${id}`)
        : finding("ok", what, answers),
    );
  }
  sender.close();
  return findings;
}

/** Whether the API answers where DUNLIN_PORT says, by our own certificate authority if it is ours. */
function api({ settings }: Context): Promise<Finding> {
  const caPath = join(settings.dataDir, "tls", "ca.pem");
  const ca = settings.certificate === null && existsSync(caPath) ? readFileSync(caPath, "utf8") : undefined;
  const url = `${settings.baseUrl}/readyz`;
  return new Promise((resolve) => {
    const asked = request(url, { timeout: 5_000, ...(ca ? { ca } : {}) }, (reply) => {
      reply.resume();
      resolve(finding(reply.statusCode === 200 ? "ok" : "fail", "api", `${url} answers ${reply.statusCode}`));
    });
    asked.on("timeout", () => asked.destroy(new Error("no answer within 5 s")));
    asked.on("error", (error: NodeJS.ErrnoException) => {
      const isUnknown = /^(DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|UNABLE_TO_)/.test(error.code ?? "");
      const says = isUnknown
        ? "its certificate is of an authority that doctor does not know. To check it, run doctor with NODE_EXTRA_CA_CERTS=FILE, the authority's PEM file."
        : `${error.message}. Is "npx dunlin serve" running?`;
      resolve(finding("warn", "api", `${url}: ${says}`));
    });
    asked.end();
  });
}
