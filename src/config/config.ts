import { resolve } from "node:path";
import type { TokenKey } from "../actions-api/page-token.ts";
import { isMailServer, type MailSettings } from "../auth/mail.ts";
import type { OidcSettings } from "../auth/oidc.ts";
import { isEmail } from "../auth/sign-in.ts";
import { parseRules, type RuleOverrides } from "../engine/rules/rule-overrides.ts";
import { parseTrustedProxies, type TrustedProxies } from "../http/client-address.ts";
import { CONNECTIONS_MAX } from "../http/listener.ts";
import type { RetentionDays } from "../merchants/delete-expired.ts";
import type { SecretKeys } from "../tables/secret-box.ts";
import { findCertificateProblem, findKeyProblem, readPem, readSettingFile } from "./pem-files.ts";
import { readSecretKeys } from "./read-secret-keys.ts";
import { SETTING_NAMES, suggestByParts } from "./setting-names.ts";
import { suggestName } from "./suggest-name.ts";

const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/** Everything that the surroundings may set, checked. */
export interface Settings {
  /** A PostgreSQL to use in place of the embedded one. */
  databaseUrl: string | null;
  dataDir: string;
  host: string;
  port: number;
  metricsPort: number | null;
  /** The address on which metrics listen. They need no key, so by default only this machine can read them. */
  metricsHost: string;
  /** The service writes log lines of this level and above. */
  logLevel: LogLevel;
  baseUrl: string;
  authUrl: string;
  /** `on`, or `proxy` when a proxy in front ends TLS. */
  tls: "on" | "proxy";
  /** How many connections one address may have to the API's port of a process. */
  connectionsPerAddress: number;
  /** Connections to the database at most, for requests and for other work each. */
  databaseConnections: number;
  /** The proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies: TrustedProxies;
  /** PEM of the operator's own certificate and key; null: a local CA makes one. */
  certificate: { cert: string; key: string } | null;
  /** null: as the database says, 1 at first. */
  clockRate: number | null;
  /** How far the clocks of senders may be ahead of service time. */
  clockSkewMs: number;
  webhookAllow: string;
  /** PEM of certificate authorities to trust beside the usual ones. */
  webhookCa: string | null;
  /** PEM of the certificate and key that webhooks show to endpoints that ask for one. */
  webhookClientCertificate: { cert: string; key: string } | null;
  egressRanges: string[];
  /** The operator's own rules, in place of ours; null: ours. */
  rules: RuleOverrides | null;
  /** How many days (service time) the delivery log goes back, at least. */
  deliveryLogDays: number;
  /** How many days (service time) decisions are kept with their facts, at least, from the opening of their case. */
  decisionDays: number;
  /** How many days (service time) records are kept at least, from their end. */
  keepDays: RetentionDays;
  /** Newest first; null: a file in the data folder holds them. */
  secretKeys: SecretKeys | null;
  /** The identity provider that people may sign in with; null: passwords alone. */
  oidc: OidcSettings | null;
  /** The server that takes invites by mail; null: none. */
  mail: MailSettings | null;
  /** The first signs page tokens, each opens them; `default` follows from the secret key. */
  pageTokenKeys: TokenKey[];
}

/** A setting that cannot be used: where it was set, what is wrong, what to write. */
export interface SettingProblem {
  name: string;
  problem: string;
}

/** A setting that turns out wrong only when it is used. */
export class ConfigError extends Error {
  readonly setting: string;
  constructor(setting: string, problem: string) {
    super(problem);
    this.setting = setting;
  }
}

/** Decisions rest on 400 days of bills before a case, and a case lasts four weeks as a rule. The audit log answers for a year. */
const MIN_RETENTION_DAYS = { invoices: 450, subscriptions: 450, audit: 365 };

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Read the settings from the environment. All problems come at once.
 *
 * @param checkAllow  says what is wrong with a list of allowed addresses; null: nothing
 */
export function readSettings(
  environment: Environment,
  checkAllow: (text: string) => string | null,
  realNow: Date,
): { settings: Settings; problems: SettingProblem[] } {
  const problems: SettingProblem[] = [];
  const wrong = (name: string, problem: string) => problems.push({ name, problem });
  const text = (name: string) => environment[name]?.trim() || null;
  for (const name of Object.keys(environment))
    if (name.startsWith("DUNLIN_") && !SETTING_NAMES.includes(name))
      wrong(
        name,
        `is not a setting.${suggestName(name, SETTING_NAMES) || suggestByParts(name)} docs/reference/settings.md lists them.`,
      );

  const number = (name: string, fallback: number | null, accepts: (n: number) => boolean, expected: string) => {
    const value = text(name);
    if (value === null) return fallback;
    if (/^\d+(\.\d+)?$/.test(value) && accepts(Number(value))) return Number(value);
    wrong(name, `"${value}" is not ${expected}.`);
    return fallback;
  };
  // An action whose outcome is still awaited needs the start of its first attempt.
  const isLogAge = (n: number) => Number.isInteger(n) && n >= 60 && n <= 36_500;
  const days = (name: string, least: number) =>
    number(
      name,
      null,
      (n) => Number.isInteger(n) && n >= least && n <= 36_500,
      `a number of days. Write one from ${least} to 36500, or unset it to keep all`,
    );
  const isShare = (n: number) => Number.isInteger(n) && n >= 10 && n <= CONNECTIONS_MAX;
  const isPort = (n: number) => Number.isInteger(n) && n >= 1 && n <= 65535;
  const url = (name: string, fallback: string, schemes: string[]) => {
    const value = text(name);
    if (value === null) return fallback;
    if (hasScheme(value, schemes)) return value.replace(/\/+$/, "");
    // The value may hold a password, so it is not repeated.
    wrong(name, `is not a URL that begins with ${schemes.map((s) => `${s}//`).join(" or ")}.`);
    return fallback;
  };
  const file = (name: string) => {
    const path = text(name);
    if (path === null) return null;
    const found = readPem(path);
    if ("pem" in found) return found.pem;
    wrong(name, found.problem);
    return null;
  };

  const proxies = () => {
    try {
      return parseTrustedProxies(text("DUNLIN_TRUSTED_PROXIES") ?? "");
    } catch (error) {
      wrong("DUNLIN_TRUSTED_PROXIES", (error as Error).message);
      return parseTrustedProxies("");
    }
  };

  const ownRules = (name: string) => {
    const path = text(name);
    if (path === null) return null;
    const found = readSettingFile(path, "a file of rules");
    if ("problem" in found) {
      wrong(name, found.problem);
      return null;
    }
    const { rules, problems } = parseRules(found.text);
    for (const problem of problems) wrong(name, `${path}: ${problem}.`);
    return rules;
  };

  const certificate = (certName: string, keyName: string, advice: string) => {
    const [cert, key] = [file(certName), file(keyName)];
    if ((text(certName) === null) !== (text(keyName) === null))
      wrong(text(certName) === null ? certName : keyName, "is missing: set both or neither.");
    const problem = cert === null ? null : findCertificateProblem(cert, realNow);
    if (problem !== null) wrong(certName, `${problem} ${advice}`);
    if (cert === null || key === null) return null;
    const misfit = problem === null ? findKeyProblem(cert, key) : null;
    if (misfit !== null) wrong(keyName, misfit);
    return { cert, key };
  };

  const oidc = (): OidcSettings | null => {
    // Compared letter by letter with what the provider calls itself, so a slash at its end stays.
    const issuer = url("DUNLIN_OIDC_ISSUER", "", ["https:"]) && text("DUNLIN_OIDC_ISSUER");
    const [clientId, clientSecret] = [text("DUNLIN_OIDC_CLIENT_ID"), text("DUNLIN_OIDC_CLIENT_SECRET")];
    const parts = ["DUNLIN_OIDC_ISSUER", "DUNLIN_OIDC_CLIENT_ID", "DUNLIN_OIDC_CLIENT_SECRET"];
    const missing = parts.filter((name) => text(name) === null);
    if (missing.length < parts.length)
      for (const name of missing)
        wrong(name, "is missing: sign-in with a provider needs issuer, client id and client secret.");
    if (!issuer || clientId === null || clientSecret === null) return null;
    return { issuer, clientId, clientSecret, name: text("DUNLIN_OIDC_NAME") ?? new URL(issuer).hostname };
  };

  const mail = (): MailSettings | null => {
    const server = url("DUNLIN_SMTP_URL", "", ["smtp:", "smtps:"]);
    const from = text("DUNLIN_MAIL_FROM");
    if (from !== null && !isEmail(from)) wrong("DUNLIN_MAIL_FROM", `"${from}" is not an e-mail address.`);
    if (server !== "" && !isMailServer(server))
      wrong("DUNLIN_SMTP_URL", "has no host, or a sign in its password that must be written as %25, %2F or the like.");
    if ((text("DUNLIN_SMTP_URL") === null) !== (from === null))
      wrong(from === null ? "DUNLIN_MAIL_FROM" : "DUNLIN_SMTP_URL", "is missing: set both or neither.");
    return server === "" || from === null ? null : { url: server, from };
  };

  const host = text("DUNLIN_HOST") ?? "localhost";
  const port = number("DUNLIN_PORT", 8443, isPort, "a port. Write a number from 1 to 65535")!;
  const tls = text("DUNLIN_TLS") ?? "on";
  if (tls !== "on" && tls !== "proxy") wrong("DUNLIN_TLS", `"${tls}" is neither "on" nor "proxy".`);
  const clockRate = number("DUNLIN_CLOCK_RATE", null, (n) => n > 0 && n <= 1e7, "a rate. Write a number above 0");
  const databaseUrl = url("DATABASE_URL", "", ["postgres:", "postgresql:"]) || null;
  if (clockRate !== null && clockRate !== 1 && databaseUrl && text("DUNLIN_CLOCK_RATE_CONFIRM") !== "yes")
    wrong(
      "DUNLIN_CLOCK_RATE",
      "a fast clock on your own database needs DUNLIN_CLOCK_RATE_CONFIRM=yes: it ages all data.",
    );
  const webhookAllow = text("DUNLIN_WEBHOOK_ALLOW") ?? "";
  const allowProblem = checkAllow(webhookAllow);
  if (allowProblem) wrong("DUNLIN_WEBHOOK_ALLOW", allowProblem);
  const secret = text("DUNLIN_SECRET_KEY");
  const keysRead = secret === null ? null : readSecretKeys(secret);
  if (keysRead && "problem" in keysRead) wrong("DUNLIN_SECRET_KEY", keysRead.problem);
  const logLevel = LOG_LEVELS.find((level) => level === (text("DUNLIN_LOG_LEVEL") ?? "info"));
  if (!logLevel) wrong("DUNLIN_LOG_LEVEL", `"${text("DUNLIN_LOG_LEVEL")}" is none of ${LOG_LEVELS.join(", ")}.`);
  const pageTokenKeys = (text("DUNLIN_PAGE_TOKEN_KEYS") ?? "default")
    .split(",")
    .map((key): TokenKey => (key.trim() === "default" ? "default" : Buffer.from(key, "base64")));
  if (pageTokenKeys.some((key) => key !== "default" && key.length !== 32))
    wrong(
      "DUNLIN_PAGE_TOKEN_KEYS",
      'is not a list of keys, each 32 bytes in base64 or the word "default". Write the newest first, separated by commas.',
    );
  const baseUrl = url("DUNLIN_BASE_URL", `https://localhost:${port}`, ["https:"]);
  const settings: Settings = {
    databaseUrl,
    dataDir: resolve(text("DUNLIN_DATA") ?? "data"),
    host,
    port,
    metricsPort: number("DUNLIN_METRICS_PORT", null, isPort, "a port. Write a number from 1 to 65535"),
    metricsHost: text("DUNLIN_METRICS_HOST") ?? "localhost",
    logLevel: logLevel ?? "info",
    baseUrl,
    authUrl: url("DUNLIN_AUTH_URL", baseUrl, ["https:"]),
    tls: tls === "proxy" ? "proxy" : "on",
    trustedProxies: proxies(),
    databaseConnections: number(
      "DUNLIN_DATABASE_CONNECTIONS",
      10,
      (n) => Number.isInteger(n) && n >= 4 && n <= 100,
      "a number of connections. Write one from 4 to 100",
    )!,
    connectionsPerAddress: number(
      "DUNLIN_CONNECTIONS_PER_ADDRESS",
      500,
      isShare,
      "a count. Write one from 10 to 5000",
    )!,
    certificate: certificate("DUNLIN_TLS_CERT", "DUNLIN_TLS_KEY", "Unset it to use a generated certificate."),
    clockRate,
    clockSkewMs:
      1000 * number("DUNLIN_CLOCK_SKEW", 300, (n) => n >= 0 && n <= 86_400, "seconds. Write a number from 0 to 86400")!,
    webhookAllow,
    webhookCa: file("DUNLIN_WEBHOOK_CA"),
    rules: ownRules("DUNLIN_RULES"),
    webhookClientCertificate: certificate(
      "DUNLIN_WEBHOOK_CLIENT_CERT",
      "DUNLIN_WEBHOOK_CLIENT_KEY",
      "Write the file of a valid one, or unset both.",
    ),
    egressRanges: (text("DUNLIN_EGRESS_RANGES") ?? "").split(",").flatMap((range) => range.trim() || []),
    decisionDays: number("DUNLIN_DECISION_DAYS", 400, isLogAge, "a number of days. Write one from 60 to 36500")!,
    deliveryLogDays: number("DUNLIN_DELIVERY_LOG_DAYS", 180, isLogAge, "a number of days. Write one from 60 to 36500")!,
    keepDays: {
      invoices: days("DUNLIN_KEEP_INVOICES_DAYS", MIN_RETENTION_DAYS.invoices),
      subscriptions: days("DUNLIN_KEEP_SUBSCRIPTIONS_DAYS", MIN_RETENTION_DAYS.subscriptions),
      audit: days("DUNLIN_KEEP_AUDIT_DAYS", MIN_RETENTION_DAYS.audit),
    },
    secretKeys: keysRead && "keys" in keysRead ? keysRead.keys : null,
    oidc: oidc(),
    mail: mail(),
    pageTokenKeys,
  };
  return { settings, problems };
}

/** PostgreSQL's URLs may leave out the host, or name a socket folder, which makes them no URL in the strict sense. */
const hasScheme = (value: string, schemes: readonly string[]) =>
  schemes.some((scheme) => value.startsWith(`${scheme}//`)) && (schemes.includes("postgres:") || URL.canParse(value));
