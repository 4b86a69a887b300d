/** How the merchant's endpoint recognizes Dunlin. The secret itself is stored encrypted and never leaves the delivery room in the clear. */
export type WebhookAuth = "bearer" | "basic";

/** An endpoint that a person paused stays paused until a person resumes it. A change of the endpoint also resumes one that Dunlin paused. */
export type PausedBy = "person" | "dunlin";

export const ENGINES = ["learned", "static"] as const;
/** The engine that decides: the learned model, or fixed rules. */
export type Engine = (typeof ENGINES)[number];

/** One customer of this service: a business whose failed payments are recovered. */
export interface Merchant {
  id: string;
  name: string;
  /** Which of the 64 delivery buckets the merchant's webhooks are sent from; fixed for life. */
  bucket: number;
  webhookUrl: string | null;
  webhookAuth: WebhookAuth | null;
  /** AES-256-GCM box of the bearer token, or of "user:password". */
  webhookCredential: Buffer | null;
  /** AES-256-GCM box of the `whsec_` secret that signs what we send; null: nothing is signed. */
  webhookSecret: Buffer | null;
  /** The one before it, which signs too until its moment. */
  webhookOldSecret: Buffer | null;
  webhookOldSecretUntil: Date | null;
  /** Post to `…/recovery_action` and so on in place of one URL. */
  webhookSubPaths: boolean;
  /** Send `recovery_action` as the flat retry request in place of the envelope. */
  webhookFlat: boolean;
  /** Webhook requests in flight at once. */
  webhookCap: number;
  /** Webhook requests per second of real time; null: no limit. */
  webhookRate: number | null;
  /** Deliveries wait while true; nothing is dropped. */
  webhookPaused: boolean;
  /** Since when, in service time, and who did it; null while deliveries go out. */
  webhookPausedAt: Date | null;
  webhookPausedBy: PausedBy | null;
  /** Every attempt since this moment of service time has failed; null: the last one that counts succeeded. */
  webhookFailingSince: Date | null;
  /** How long before the ideal time the decision is made and its event sent. */
  leadMs: number;
  windowDays: number;
  /** Retries per case. */
  budget: number;
  /** In minor units, of any currency: for less than this no retry is made. */
  smallestAmount: number;
  engine: Engine;
  /** Cases that begin while true are decided and logged, and nothing is asked for. */
  shadow: boolean;
  /** Its outcomes teach the model of all who share, and that model decides for it; otherwise it has one of its own. */
  sharesLearning: boolean;
  /** Whether a share of retries is sampled to learn from them; null: once its model has trained on enough outcomes. */
  explore: boolean | null;
  ratePerSecond: number;
  rateBurst: number;
  createdAt: Date;
}

export const BUCKET_COUNT = 64;

/** The settings of a new merchant. */
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
