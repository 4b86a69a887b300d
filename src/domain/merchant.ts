/** The secret is stored encrypted, and only `src/delivery` decrypts it. */
export type WebhookAuth = "bearer" | "basic";

/** Only a person resumes what a person paused. A changed endpoint resumes what Dunlin paused. */
export type PausedBy = "person" | "dunlin";

export const ENGINES = ["learned", "static"] as const;
export type Engine = (typeof ENGINES)[number];

export interface Merchant {
  id: string;
  name: string;
  /** Which of the 64 delivery buckets sends its webhooks. Never changes. */
  bucket: number;
  webhookUrl: string | null;
  webhookAuth: WebhookAuth | null;
  /** A bearer token or "user:password", encrypted with AES-256-GCM. */
  webhookCredential: Buffer | null;
  /** `whsec_…`, encrypted likewise; null without signatures. */
  webhookSecret: Buffer | null;
  /** Also signs until `webhookOldSecretUntil`. */
  webhookOldSecret: Buffer | null;
  webhookOldSecretUntil: Date | null;
  /** Post to `…/recovery_action` and so on. */
  webhookSubPaths: boolean;
  /** `recovery_action` as a flat retry request. */
  webhookFlat: boolean;
  /** Maximum concurrent requests. */
  webhookCap: number;
  /** Per real second; null: unlimited. */
  webhookRate: number | null;
  /** Nothing is dropped meanwhile. */
  webhookPaused: boolean;
  /** Service time. */
  webhookPausedAt: Date | null;
  webhookPausedBy: PausedBy | null;
  /** Service time since which every attempt has failed. */
  webhookFailingSince: Date | null;
  /** Whether its endpoint gets `recovery_ended` when a case ends. */
  sendsRecoveryEnded: boolean;
  /** How long before the ideal time the event is sent. */
  leadMs: number;
  windowDays: number;
  /** Retries per case. */
  budget: number;
  /** Minor units, any currency. */
  smallestAmount: number;
  engine: Engine;
  /** New cases are only decided and logged. */
  shadow: boolean;
  /** Whether it shares one model with other merchants. */
  sharesLearning: boolean;
  /** Samples retries to learn from them. Null waits for enough outcomes. */
  explore: boolean | null;
  ratePerSecond: number;
  rateBurst: number;
  createdAt: Date;
}

export const BUCKET_COUNT = 64;

export const MERCHANT_DEFAULTS = {
  webhookUrl: null,
  webhookAuth: null,
  webhookCredential: null,
  webhookSecret: null,
  webhookOldSecret: null,
  webhookOldSecretUntil: null,
  webhookSubPaths: false,
  webhookFlat: false,
  webhookCap: 5,
  webhookRate: null,
  webhookPaused: false,
  webhookPausedAt: null,
  webhookPausedBy: null,
  webhookFailingSince: null,
  sendsRecoveryEnded: false,
  leadMs: 49 * 60_000,
  windowDays: 28,
  budget: 8,
  smallestAmount: 0,
  engine: "learned",
  shadow: false,
  sharesLearning: true,
  explore: null,
  ratePerSecond: 100,
  rateBurst: 100,
} as const;
