import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";

export interface ReceivedMail {
  from: string;
  to: string[];
  /** With its headers, unchanged. */
  text: string;
  isSecure: boolean;
}

export interface MailServerOptions {
  /** Without it the server offers no TLS. */
  tls?: { cert: string; key: string };
  /** Whether TLS starts with the first byte. */
  secure?: boolean;
  /** The allowed sender; without it any client can send. */
  login?: { user: string; password: string };
  /** The refusal of every address. */
  refuses?: string;
  /** The refusal of every text. */
  refusesText?: string;
  host?: string;
}

/** Starts a mail server on loopback. */
export async function startMailServer(options: MailServerOptions) {
  const { tls, secure = false, login, refuses, refusesText, host = "127.0.0.1" } = options;
  const mails: ReceivedMail[] = [];
  const logins: string[] = [];
  const server = new SMTPServer({
    ...tls,
    secure,
    authOptional: login === undefined,
    allowInsecureAuth: true,
    disabledCommands: tls ? [] : ["STARTTLS"],
    onAuth({ username = "", password = "" }, _session, done) {
      logins.push(username);
      const isRight = username === login?.user && password === login.password;
      done(isRight ? null : new Error("no"), isRight ? { user: username } : undefined);
    },
    onRcptTo: (_address, _session, done) => done(refuses === undefined ? null : new Error(refuses)),
    onData(stream, { envelope, secure: isSecure }, done) {
      // A sender that dies in the middle of a mail sends none.
      void text(stream).then((received) => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : "";
        mails.push({ from, to: envelope.rcptTo.map(({ address }) => address), text: received, isSecure });
        done(refusesText === undefined ? null : new Error(refusesText));
      }, done);
    },
  });
  server.on("error", () => {});
  server.listen(0, host);
  await once(server.server, "listening");
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    logins,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
