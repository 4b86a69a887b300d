import { createTransport } from "nodemailer";

/** The server that takes our mail, and the address that it comes from. */
export interface MailSettings {
  /** `smtps://user:password@host:465`, or `smtp://…:587`. */
  url: string;
  from: string;
}

/** Whether an URL names a server, and its user and password can be read. */
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
}

export interface Mailer {
  /** Hand a mail over; in words why that failed, or null. */
  send(mail: Mail): Promise<string | null>;
  /** Whether the server would take one, without sending any; in words why not, or null. */
  check(): Promise<string | null>;
}

/** A page waits for it. */
const SMTP_TIMEOUT_MS = 10_000;
/** In the clear only where nobody is in between. */
const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"];

/** Mail by SMTP: over TLS from the first byte, or from STARTTLS on, without which nothing is said to a server elsewhere. */
export function createMailer({ url, from }: MailSettings, patienceMs = SMTP_TIMEOUT_MS): Mailer {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === "smtps:";
  const transport = createTransport({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: !LOCAL_HOSTS.includes(hostname),
    ...(username !== "" && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    dnsTimeout: patienceMs,
    connectionTimeout: patienceMs,
    greetingTimeout: patienceMs,
    socketTimeout: patienceMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    send: ({ to, subject, text }) =>
      // As an object an address is one address, whatever stands in it.
      toErrorMessage(
        transport.sendMail({ from: { name: "Dunlin", address: from }, to: { name: "", address: to }, subject, text }),
      ),
    check: () => toErrorMessage(transport.verify()),
  };
}

const ERROR_MESSAGES: Record<string, string> = {
  EAUTH: "the mail server refuses our user and password",
  ETLS: "the mail server offers no TLS that can be trusted",
  EENVELOPE: "the mail server refuses the address",
  EMESSAGE: "the mail server refuses the text",
};

async function toErrorMessage(done: Promise<unknown>): Promise<string | null> {
  try {
    await done;
    return null;
  } catch (error) {
    const { code = "", response } = error as { code?: string; response?: string };
    const words = ERROR_MESSAGES[code] ?? "the mail server does not answer as it should";
    return response === undefined ? words : `${words} (it says: ${plainAnswer(response)})`;
  }
}

const ANSWER_LENGTH_MAX = 200;
const plainAnswer = (answer: string) =>
  answer
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, ANSWER_LENGTH_MAX);
