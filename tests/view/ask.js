// SPDX-License-Identifier: BSD-3-Clause
// Asks the library compiled to WebAssembly: node ask.js MODULE_JS, a question a line in, an answer a line out.
'use strict';
const readline = require('readline');

require(require('path').resolve(process.argv[2]))().then(module => {
  const ask = module.cwrap('multitree_touch', 'string', ['string']);
  readline.createInterface({input: process.stdin}).on('line', line => process.stdout.write(ask(line) + '\n'));
});
