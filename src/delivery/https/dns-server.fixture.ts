import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer, isIPv6, type Socket } from "node:net";

const RECORD_TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const;
export type RecordType = keyof typeof RECORD_TYPES;

export interface DnsQuestion {
  /** Lowercase, without the trailing dot. */
  name: string;
  type: RecordType;
  over: "udp" | "tcp";
  /** Earlier queries for this name and type. */
  earlierCount: number;
}

export interface DnsReply {
  /**
   * `A 192.0.2.1`, `AAAA 2001:db8::1` or `CNAME other.example`, optionally with a TTL in seconds. Records after a CNAME belong to
   * its target.
   */
  records?: readonly string[];
  /** 3: the name does not exist. 2: this server is broken. */
  code?: 0 | 2 | 3;
  /** Makes the client repeat the query over TCP. */
  truncated?: boolean;
}

export interface DnsServer {
  servers: string[];
  questions: DnsQuestion[];
  close(): void;
}

/** Starts a name server on 127.0.0.1. It does not reply if `answer` returns undefined. */
export async function startDnsServer(answer: (question: DnsQuestion) => DnsReply | undefined): Promise<DnsServer> {
  const questions: DnsQuestion[] = [];
  const counts = new Map<string, number>();

  function replyTo(message: Buffer, over: "udp" | "tcp"): Buffer | undefined {
    const { name, at } = readName(message);
    const number = message.readUInt16BE(at);
    const type = (Object.keys(RECORD_TYPES) as RecordType[]).find((each) => RECORD_TYPES[each] === number);
    if (type === undefined) throw new Error(`unexpected query type ${number}`);
    const earlierCount = counts.get(`${name} ${type}`) ?? 0;
    counts.set(`${name} ${type}`, earlierCount + 1);
    const question = { name, type, over, earlierCount };
    questions.push(question);
    const reply = answer(question);
    return reply && encodeReply(message.subarray(0, at + 4), name, reply);
  }

  const tcp = createServer((socket) => {
    socket.on("error", () => {});
    let read = Buffer.alloc(0);
    socket.on("data", (bytes: Buffer) => {
      read = Buffer.concat([read, bytes]);
      while (read.length >= 2 && read.length >= 2 + read.readUInt16BE(0)) {
        const reply = replyTo(read.subarray(2, 2 + read.readUInt16BE(0)), "tcp");
        read = read.subarray(2 + read.readUInt16BE(0));
        if (reply) socket.write(Buffer.concat([uint16(reply.length), reply]));
      }
    });
  });
  const streams = new Set<Socket>();
  tcp.on("connection", (socket) => streams.add(socket));
  tcp.listen(0, "127.0.0.1");
  await once(tcp, "listening");
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket("udp4");
  udp.on("message", (message, from) => {
    const reply = replyTo(message, "udp");
    if (reply) udp.send(reply, from.port, from.address);
  });
  udp.bind(port, "127.0.0.1");
  await once(udp, "listening");
  return {
    servers: [`127.0.0.1:${port}`],
    questions,
    close() {
      udp.close();
      for (const socket of streams) socket.destroy();
      tcp.close();
    },
  };
}

const uint16 = (number: number) => Buffer.from([number >> 8, number & 255]);

function readName(message: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (; message[at] !== 0; at += message[at]! + 1)
    labels.push(message.toString("latin1", at + 1, at + 1 + message[at]!));
  return { name: labels.join(".").toLowerCase(), at: at + 1 };
}

function encodeReply(head: Buffer, name: string, { records = [], code = 0, truncated = false }: DnsReply): Buffer {
  const header = Buffer.from(head.subarray(0, 12));
  header.writeUInt16BE(0x8180 | code | (truncated ? 0x200 : 0), 2);
  header.writeUInt16BE(truncated ? 0 : records.length, 6);
  // No additional section: the client's EDNS record is not echoed.
  header.writeUInt16BE(0, 8);
  header.writeUInt16BE(0, 10);
  let owner = name;
  const encoded = records.map((text) => {
    const [type, value, ttl] = text.split(" ") as [RecordType, string, string | undefined];
    const data = type === "CNAME" ? encodeName(value) : addressBytes(value);
    const ttlBytes = Buffer.alloc(4);
    ttlBytes.writeUInt32BE(Number(ttl ?? 0));
    const record = [encodeName(owner), uint16(RECORD_TYPES[type]), uint16(1), ttlBytes, uint16(data.length), data];
    if (type === "CNAME") owner = value;
    return Buffer.concat(record);
  });
  return Buffer.concat([header, head.subarray(12), ...(truncated ? [] : encoded)]);
}

const encodeName = (name: string) =>
  Buffer.concat([...name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)])), Buffer.of(0)]);

/** Does not use the library that the guard uses. */
export function addressBytes(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split(".").map(Number));
  const dotted = /[\d.]*$/.exec(address)?.[0] ?? "";
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number);
  const hexForm = dotted.includes(".")
    ? `${address.slice(0, -dotted.length)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
    : address;
  const [head = "", tailText] = hexForm.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const tail = tailText === undefined ? [] : groups(tailText);
  const missingCount = 8 - groups(head).length - tail.length;
  const all = [...groups(head), ...Array<string>(missingCount).fill("0"), ...tail];
  return Buffer.concat(all.map((group) => uint16(Number.parseInt(group, 16))));
}
