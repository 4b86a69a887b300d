/** Billing systems with a connector. */
export const CONNECTOR_NAMES = ["stripe"] as const;
export type ConnectorName = (typeof CONNECTOR_NAMES)[number];

/** What happens to an invoice that is still open when its recovery ends. */
export const END_CHOICES = ["give_back", "mark_uncollectible", "cancel_subscription"] as const;
export type EndChoice = (typeof END_CHOICES)[number];

export interface MessageSettings {
  /** Folder with the merchant's own templates; null: only Dunlin's. */
  templates: string | null;
  /** A time zone such as `Europe/Berlin`. */
  zone: string;
  /** Hours from 0 to 23. */
  quietFrom: number;
  quietTo: number;
  /** Mails per invoice. */
  most: number;
  everyDays: number;
}

export interface ConnectionSettings {
  whenOver: EndChoice;
  /** How many days of history are read at first. */
  historyDays: number;
  /** Null: no mails to customers. */
  messages: MessageSettings | null;
  /** Under which the provider and customers reach the connector; null: not reachable. */
  publicUrl: string | null;
  /** Where the connector listens. */
  host: string;
  port: number;
  /** Under which Dunlin reaches the connector; null: on this machine. */
  endpointUrl: string | null;
}

/** Keys and tokens of both sides. */
export interface ConnectionSecrets {
  providerKey: string;
  webhookSecrets: string[];
  apiKey: string;
  /** Dunlin sends it to the connector. */
  token: string;
}

/** A billing account that a connector serves. */
export interface Connection {
  merchantId: string;
  name: ConnectorName;
  /** Whether it takes real money. */
  isLive: boolean;
  /** `ConnectionSecrets` as JSON, encrypted. */
  secrets: Buffer;
  settings: ConnectionSettings;
  /** On this machine; null: the connector has a public address. */
  localPort: number | null;
  createdAt: Date;
  pausedAt: Date | null;
  pausedBy: string | null;
  /** When the connector last reported; null: never. */
  seenAt: Date | null;
}
