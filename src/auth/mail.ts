import { createTransport } from "nodemailer";

export interface MailSettings {
  /** `smtps://user:password@host:465` or `smtp://…:587`. */
  url: string;
  from: string;
}

/** Whether a URL has a host and a decodable user name and password. */
export function isMailServer(url: string): boolean {
  try {
    const { hostname, username, password } = new URL(url);
    decodeURIComponent(username + password);
    return hostname !== "";
  } catch {
    return false;
  }
}

export interface Mail {
  to: string;
  subject: string;
  text: string;
  html?: string;
  /** Default: Dunlin. */
  fromName?: string;
  headers?: Record<string, string>;
}

export interface Mailer {
  send(mail: Mail): Promise<string | null>;
  /** Connects without sending a mail. Returns why that failed, or null. */
  check(): Promise<string | null>;
}

/** Short, because a page waits. */
const SMTP_TIMEOUT_MS = 10_000;
/** Mail to these hosts may be unencrypted. */
const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"];

export interface MailerOptions {
  timeoutMs?: number;
  /** How much of the server's answer an error has. Its text may hold addresses; its codes do not. Default: `text`. */
  shownAnswer?: "text" | "codes";
}

/** Sends mail by SMTP, with TLS or STARTTLS except to local hosts. */
export function createMailer(
  { url, from }: MailSettings,
  { timeoutMs = SMTP_TIMEOUT_MS, shownAnswer = "text" }: MailerOptions = {},
): Mailer {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === "smtps:";
  const transport = createTransport({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: !LOCAL_HOSTS.includes(hostname),
    ...(username !== "" && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    dnsTimeout: timeoutMs,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    send: ({ to, fromName = "Dunlin", ...mail }) =>
      // As an object, the address cannot be parsed as several.
      toErrorMessage(
        transport.sendMail({ ...mail, from: { name: fromName, address: from }, to: { name: "", address: to } }),
        shownAnswer,
      ),
    check: () => toErrorMessage(transport.verify(), shownAnswer),
  };
}

const ERROR_MESSAGES: Record<string, string> = {
  EAUTH: "the mail server rejected the user name or password",
  ETLS: "the mail server offers no trusted TLS connection",
  EENVELOPE: "the mail server rejected the address",
  EMESSAGE: "the mail server rejected the message",
};

async function toErrorMessage(
  operation: Promise<unknown>,
  shownAnswer: NonNullable<MailerOptions["shownAnswer"]>,
): Promise<string | null> {
  try {
    await operation;
    return null;
  } catch (error) {
    const { code = "", response } = error as { code?: string; response?: string };
    const message = ERROR_MESSAGES[code] ?? "the mail server did not answer correctly";
    if (response === undefined) return message;
    const answer = shownAnswer === "text" ? plainAnswer(response) : codesOf(response);
    return `${message} (its answer: ${answer})`;
  }
}

/** Such as `550 5.1.1`: the status, and the enhanced status code by its class, subject and detail. */
const codesOf = (answer: string) =>
  /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3}(?!\S))?/.exec(answer)?.[0].replace("-", " ") ?? "no code";

const ANSWER_LENGTH_MAX = 200;
const plainAnswer = (answer: string) =>
  answer
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, ANSWER_LENGTH_MAX);
