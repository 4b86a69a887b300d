/** Incidents that people can be told of. */
export const ALERT_KINDS = ["endpoint", "ingest", "connector", "given_up", "large_lost", "rate_fell"] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

export const DIGEST_RHYTHMS = ["off", "daily", "weekly"] as const;
export type DigestRhythm = (typeof DIGEST_RHYTHMS)[number];

/** The mails that a person wants about a merchant. */
export interface MemberNotices {
  digest: DigestRhythm;
  /** 1 is Monday; for weekly digests. In the person's time zone, as the hour. */
  digestWeekday: number;
  /** 0 to 23 */
  digestHour: number;
  alerts: AlertKind[];
}

export const NO_NOTICES: MemberNotices = { digest: "off", digestWeekday: 1, digestHour: 8, alerts: [] };

/** The chat that gets a merchant's alerts. */
export interface ChatWebhook {
  /** Encrypted, because whoever has the URL can post. */
  url: Buffer;
  /** The URL without its secret part. */
  shown: string;
  alerts: AlertKind[];
  createdAt: Date;
  answeredAt: Date | null;
  /** Such as "200"; null before the first message. */
  answer: string | null;
  /** Whether the chat accepted the last message. */
  delivered: boolean | null;
}
