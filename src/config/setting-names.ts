/** All settings except DATABASE_URL. */
export const SETTING_NAMES: readonly string[] = [
  "DUNLIN_DATA",
  "DUNLIN_PORT",
  "DUNLIN_HOST",
  "DUNLIN_METRICS_PORT",
  "DUNLIN_METRICS_HOST",
  "DUNLIN_LOG_LEVEL",
  "DUNLIN_BASE_URL",
  "DUNLIN_AUTH_URL",
  "DUNLIN_TLS",
  "DUNLIN_TRUSTED_PROXIES",
  "DUNLIN_CONNECTIONS_PER_ADDRESS",
  "DUNLIN_DATABASE_CONNECTIONS",
  "DUNLIN_TLS_CERT",
  "DUNLIN_TLS_KEY",
  "DUNLIN_CLOCK_RATE",
  "DUNLIN_CLOCK_RATE_CONFIRM",
  "DUNLIN_CLOCK_SKEW",
  "DUNLIN_WEBHOOK_ALLOW",
  "DUNLIN_WEBHOOK_CA",
  "DUNLIN_WEBHOOK_CLIENT_CERT",
  "DUNLIN_WEBHOOK_CLIENT_KEY",
  "DUNLIN_EGRESS_RANGES",
  "DUNLIN_DELIVERY_LOG_DAYS",
  "DUNLIN_DECISION_DAYS",
  "DUNLIN_KEEP_INVOICES_DAYS",
  "DUNLIN_KEEP_SUBSCRIPTIONS_DAYS",
  "DUNLIN_KEEP_AUDIT_DAYS",
  "DUNLIN_RULES",
  "DUNLIN_SECRET_KEY",
  "DUNLIN_PAGE_TOKEN_KEYS",
  "DUNLIN_OIDC_ISSUER",
  "DUNLIN_OIDC_CLIENT_ID",
  "DUNLIN_OIDC_CLIENT_SECRET",
  "DUNLIN_OIDC_NAME",
  "DUNLIN_SMTP_URL",
  "DUNLIN_MAIL_FROM",
];

/** Also finds names with a word too many or too few. */
export function suggestByParts(typed: string): string {
  const name = [...SETTING_NAMES, "DATABASE_URL"].find(
    (each) => each.startsWith(`${typed}_`) || typed.startsWith(`${each}_`) || typed.endsWith(`_${each}`),
  );
  return name === undefined ? "" : ` Did you mean ${name}?`;
}
