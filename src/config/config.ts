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
import { readSettingFile } from "./pem-files.ts";
import { readSecretKeys } from "./read-secret-keys.ts";
import {
  createSettingReader,
  type Environment,
  reportUnknownSettings,
  type SettingProblem,
  type SettingReader,
} from "./setting-reader.ts";

const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

export interface Settings {
  /** Replaces the embedded PostgreSQL. */
  databaseUrl: string | null;
  dataDir: string;
  host: string;
  port: number;
  metricsPort: number | null;
  /** Metrics need no key, so by default only this machine can read them. */
  metricsHost: string;
  logLevel: LogLevel;
  baseUrl: string;
  authUrl: string;
  /** `proxy` if a proxy terminates TLS. */
  tls: "on" | "proxy";
  /** The maximum from one address to one process. */
  connectionsPerAddress: number;
  /** The maximum for requests, and again for other work. */
  databaseConnections: number;
  /** The proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies: TrustedProxies;
  /** Null if a local authority makes one. */
  certificate: { cert: string; key: string } | null;
  /** Null keeps the rate that the database has, initially 1. */
  clockRate: number | null;
  /** How far the clocks of senders may be ahead of service time. */
  clockSkewMs: number;
  webhookAllow: string;
  /** PEM of authorities in addition to the usual ones. */
  webhookCa: string | null;
  /** PEM for endpoints that require a client certificate. */
  webhookClientCertificate: { cert: string; key: string } | null;
  egressRanges: string[];
  rules: RuleOverrides | null;
  /** The minimum age of deleted delivery log entries, in service time. */
  deliveryLogDays: number;
  /** The same for decisions, from the opening of their case. */
  decisionDays: number;
  /** The same for records, from their end. */
  keepDays: RetentionDays;
  /** Newest first; null if a file in the data folder holds them. */
  secretKeys: SecretKeys | null;
  /** Null allows only passwords. */
  oidc: OidcSettings | null;
  mail: MailSettings | null;
  /** The first key signs page tokens, and all of them verify. `default` is derived from the secret key. */
  pageTokenKeys: TokenKey[];
}

/** A setting that proves wrong only in use. */
export class ConfigError extends Error {
  readonly setting: string;
  constructor(setting: string, problem: string) {
    super(problem);
    this.setting = setting;
  }
}

/** A decision uses 400 days of invoices before its case, which usually lasts four weeks. The audit log covers a year. */
const MIN_RETENTION_DAYS = { invoices: 450, subscriptions: 450, audit: 365 };

/** @param checkAllow  returns the problem with a list of allowed addresses, or null */
export function readSettings(
  environment: Environment,
  checkAllow: (text: string) => string | null,
  realNow: Date,
): { settings: Settings; problems: SettingProblem[] } {
  const reader = createSettingReader(environment, realNow);
  const { problems, report, text, number, url, pemFile, certificate } = reader;
  reportUnknownSettings(environment, report);
  const host = text("DUNLIN_HOST") ?? "localhost";
  const port = number("DUNLIN_PORT", 8443, isPort, "a port. Write a number from 1 to 65535")!;
  const tls = text("DUNLIN_TLS") ?? "on";
  if (tls !== "on" && tls !== "proxy") report("DUNLIN_TLS", `"${tls}" is neither "on" nor "proxy".`);
  const clockRate = number("DUNLIN_CLOCK_RATE", null, (n) => n > 0 && n <= 1e7, "a rate. Write a number above 0");
  const databaseUrl = url("DATABASE_URL", "", ["postgres:", "postgresql:"]) || null;
  if (clockRate !== null && clockRate !== 1 && databaseUrl && text("DUNLIN_CLOCK_RATE_CONFIRM") !== "yes")
    report(
      "DUNLIN_CLOCK_RATE",
      "a fast clock on your own database needs DUNLIN_CLOCK_RATE_CONFIRM=yes: it ages all data.",
    );
  const webhookAllow = text("DUNLIN_WEBHOOK_ALLOW") ?? "";
  const allowProblem = checkAllow(webhookAllow);
  if (allowProblem) report("DUNLIN_WEBHOOK_ALLOW", allowProblem);
  const secretKeys = readSecretKeySetting(reader);
  const logLevel = LOG_LEVELS.find((level) => level === (text("DUNLIN_LOG_LEVEL") ?? "info"));
  if (!logLevel) report("DUNLIN_LOG_LEVEL", `"${text("DUNLIN_LOG_LEVEL")}" is not one of ${LOG_LEVELS.join(", ")}.`);
  const pageTokenKeys = readPageTokenKeys(reader);
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
    trustedProxies: readTrustedProxies(reader),
    ...readConnectionLimits(reader),
    certificate: certificate("DUNLIN_TLS_CERT", "DUNLIN_TLS_KEY", "Unset it to use a generated certificate."),
    clockRate,
    clockSkewMs:
      1000 * number("DUNLIN_CLOCK_SKEW", 300, (n) => n >= 0 && n <= 86_400, "seconds. Write a number from 0 to 86400")!,
    webhookAllow,
    webhookCa: pemFile("DUNLIN_WEBHOOK_CA"),
    rules: readRuleOverrides(reader),
    webhookClientCertificate: certificate(
      "DUNLIN_WEBHOOK_CLIENT_CERT",
      "DUNLIN_WEBHOOK_CLIENT_KEY",
      "Write the file of a valid one, or unset both.",
    ),
    egressRanges: (text("DUNLIN_EGRESS_RANGES") ?? "").split(",").flatMap((range) => range.trim() || []),
    ...readRetention(reader),
    secretKeys,
    oidc: readOidc(reader),
    mail: readMail(reader),
    pageTokenKeys,
  };
  return { settings, problems };
}

const isPort = (n: number) => Number.isInteger(n) && n >= 1 && n <= 65535;

function readSecretKeySetting({ text, report }: SettingReader): SecretKeys | null {
  const value = text("DUNLIN_SECRET_KEY");
  if (value === null) return null;
  const result = readSecretKeys(value);
  if ("keys" in result) return result.keys;
  report("DUNLIN_SECRET_KEY", result.problem);
  return null;
}

function readPageTokenKeys({ text, report }: SettingReader): TokenKey[] {
  const keys = (text("DUNLIN_PAGE_TOKEN_KEYS") ?? "default")
    .split(",")
    .map((key): TokenKey => (key.trim() === "default" ? "default" : Buffer.from(key, "base64")));
  if (keys.some((key) => key !== "default" && key.length !== 32))
    report(
      "DUNLIN_PAGE_TOKEN_KEYS",
      'is not a list of keys, each 32 bytes in base64 or the word "default". Write the newest first, separated by commas.',
    );
  return keys;
}

function readTrustedProxies({ text, report }: SettingReader): TrustedProxies {
  try {
    return parseTrustedProxies(text("DUNLIN_TRUSTED_PROXIES") ?? "");
  } catch (error) {
    report("DUNLIN_TRUSTED_PROXIES", (error as Error).message);
    return parseTrustedProxies("");
  }
}

const readConnectionLimits = ({ number }: SettingReader) => ({
  databaseConnections: number(
    "DUNLIN_DATABASE_CONNECTIONS",
    10,
    (n) => Number.isInteger(n) && n >= 4 && n <= 100,
    "a number of connections. Write one from 4 to 100",
  )!,
  connectionsPerAddress: number(
    "DUNLIN_CONNECTIONS_PER_ADDRESS",
    500,
    (n) => Number.isInteger(n) && n >= 10 && n <= CONNECTIONS_MAX,
    "a count. Write one from 10 to 5000",
  )!,
});

function readRuleOverrides({ text, report }: SettingReader): RuleOverrides | null {
  const path = text("DUNLIN_RULES");
  if (path === null) return null;
  const file = readSettingFile(path, "a file of rules");
  if ("problem" in file) {
    report("DUNLIN_RULES", file.problem);
    return null;
  }
  const { rules, problems } = parseRules(file.text);
  for (const problem of problems) report("DUNLIN_RULES", `${path}: ${problem}.`);
  return rules;
}

function readRetention({ number }: SettingReader): Pick<Settings, "decisionDays" | "deliveryLogDays" | "keepDays"> {
  // Actions that await their outcome need the start of their first attempt.
  const isLogAge = (n: number) => Number.isInteger(n) && n >= 60 && n <= 36_500;
  const keepDays = (name: string, min: number) =>
    number(
      name,
      null,
      (n) => Number.isInteger(n) && n >= min && n <= 36_500,
      `a number of days. Write one from ${min} to 36500, or unset it to keep all`,
    );
  return {
    decisionDays: number("DUNLIN_DECISION_DAYS", 400, isLogAge, "a number of days. Write one from 60 to 36500")!,
    deliveryLogDays: number("DUNLIN_DELIVERY_LOG_DAYS", 180, isLogAge, "a number of days. Write one from 60 to 36500")!,
    keepDays: {
      invoices: keepDays("DUNLIN_KEEP_INVOICES_DAYS", MIN_RETENTION_DAYS.invoices),
      subscriptions: keepDays("DUNLIN_KEEP_SUBSCRIPTIONS_DAYS", MIN_RETENTION_DAYS.subscriptions),
      audit: keepDays("DUNLIN_KEEP_AUDIT_DAYS", MIN_RETENTION_DAYS.audit),
    },
  };
}

function readOidc({ text, url, report }: SettingReader): OidcSettings | null {
  // A final slash stays, because the issuer must equal the provider's own name for itself.
  const issuer = url("DUNLIN_OIDC_ISSUER", "", ["https:"]) && text("DUNLIN_OIDC_ISSUER");
  const [clientId, clientSecret] = [text("DUNLIN_OIDC_CLIENT_ID"), text("DUNLIN_OIDC_CLIENT_SECRET")];
  const names = ["DUNLIN_OIDC_ISSUER", "DUNLIN_OIDC_CLIENT_ID", "DUNLIN_OIDC_CLIENT_SECRET"];
  const missing = names.filter((name) => text(name) === null);
  if (missing.length < names.length)
    for (const name of missing)
      report(name, "is missing: sign-in with a provider needs issuer, client id and client secret.");
  if (!issuer || clientId === null || clientSecret === null) return null;
  return { issuer, clientId, clientSecret, name: text("DUNLIN_OIDC_NAME") ?? new URL(issuer).hostname };
}

function readMail({ text, url, report, reportMissingHalf }: SettingReader): MailSettings | null {
  const server = url("DUNLIN_SMTP_URL", "", ["smtp:", "smtps:"]);
  const from = text("DUNLIN_MAIL_FROM");
  if (from !== null && !isEmail(from)) report("DUNLIN_MAIL_FROM", `"${from}" is not an e-mail address.`);
  if (server !== "" && !isMailServer(server))
    report("DUNLIN_SMTP_URL", "has no host, or its password has a character that must be encoded, such as % as %25.");
  reportMissingHalf("DUNLIN_SMTP_URL", "DUNLIN_MAIL_FROM");
  return server === "" || from === null ? null : { url: server, from };
}
