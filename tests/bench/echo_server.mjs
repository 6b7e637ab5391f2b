// The smallest server on vscode-jsonrpc: what a node daemon could answer at best.
//
// `node echo_server.mjs SOCKET` serves a Unix socket and says so on standard output.

import { createServer } from "node:net";
import { createRequire } from "node:module";

// Where the locked packages of the tests are.
const require = createRequire(new URL("../pi/package.json", import.meta.url));
const rpc = require("vscode-jsonrpc/node");

const server = createServer((socket) => {
  const reader = new rpc.StreamMessageReader(socket);
  const connection = rpc.createMessageConnection(reader, new rpc.StreamMessageWriter(socket));
  connection.onRequest("initialize", () => ({ capabilities: {} }));
  connection.onNotification("initialized", () => {});
  connection.onRequest("session/close", () => ({}));
  connection.onClose(() => socket.destroy());
  socket.on("error", () => {});
  connection.listen();
});
server.listen(process.argv[2], () => console.log("ready"));
process.on("SIGTERM", () => process.exit(0));
