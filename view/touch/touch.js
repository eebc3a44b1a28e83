// What is done to the network, and what the compiled library answers. The drawing is page.js's.

// The library runs in a worker, so the page stays awake. A question that comes while another is worked on ends that one.
class Library {
  constructor() {
    const code = [at('library').textContent, at('worker').textContent];
    this.source = URL.createObjectURL(new Blob(code, {type: 'text/javascript'}));
    this.worker = null;
    this.waiting = null;
  }

  ask(question) {
    this.stop();
    if (!this.worker) this.worker = new Worker(this.source);
    return new Promise((resolve, reject) => {
      this.waiting = reject;
      const end = act => value => { this.waiting = null; act(value); };
      const broken = end(words => { this.drop(); reject(new Error(words)); });
      this.worker.onmessage = ({data}) => data.failed ? broken(data.failed) : end(resolve)(JSON.parse(data.answer));
      this.worker.onerror = event => { event.preventDefault(); broken(event.message); };
      this.worker.postMessage(JSON.stringify(question));
    });
  }

  drop() {
    if (this.worker) this.worker.terminate();
    this.worker = null;
  }

  stop() {
    if (!this.waiting) return;
    const reject = this.waiting;
    this.waiting = null;
    this.drop();
    reject(null);
  }
}

const library = new Library();
const asked = {network: '', changes: []};
const names = () => page.network.nodes.map(n => n[3]);

function question(want) {
  return {...asked, want, collective: at('collective').value, root: Number(at('root').value), size: at('size').value,
          algorithms: at('algorithms').value.split(',').map(s => s.trim()).filter(s => s)};
}

function say(words, failed) {
  at('state').textContent = words;
  at('state').classList.toggle('failed', Boolean(failed));
  document.querySelector('main').classList.toggle('stale', Boolean(failed));
}

// Colours the parts that cuts have left, on the drawing of before.
function show_parts(parts) {
  const marks = new Map();
  parts.forEach((part, i) => part.forEach(n => marks.set(n, shade(i / Math.max(1, parts.length - 1) * .5))));
  if (drawing) drawing.show(new Map(), marks);
}

function told_of(answer, before, began) {
  const {bound} = answer.page, ms = Math.round(performance.now() - began);
  const step = before && before !== bound.shards ? `From ${before} to ${bound.shards} shard times. ` : '';
  const left_out = answer.left_out.map(([algorithm, why]) => ` No ${algorithm}: ${why}.`).join('');
  return `${step}Computed here in ${ms} ms, by the program's own code: schedules verified, bound ` +
    `${bound.is_optimum ? 'proven to be the optimum' : 'proven, though it may be too low'}.${left_out}`;
}

async function compute() {
  const began = performance.now(), before = page && asked.changes.length ? page.bound.shards : '';
  show_changes();
  say(`Computing trees, loads and the bound of ${asked.network.trim().startsWith('{') ? 'the file' : asked.network} ...`);
  try {
    const answer = await library.ask(question('page'));
    if (answer.error) {
      if (answer.parts) show_parts(answer.parts);
      return say(answer.error, true);
    }
    open_page(answer.page);
    hold_drawing();
    say(told_of(answer, before, began));
  } catch (error) {
    if (error) say(`The computation broke off: ${error.message}. A smaller network may do.`, true);
  }
}

function show_changes() {
  const items = asked.changes.map((change, i) => {
    const item = document.createElement('li'), undo = document.createElement('button');
    const words = {cut: 'cut', rate: `at ${change.rate}`, cable: `one cable more, ${change.rate}, ${change.latency}`};
    item.textContent = `${change.from} \u2013 ${change.to}: ${words[change.kind]} `;
    undo.textContent = 'undo';
    undo.addEventListener('click', () => { asked.changes.splice(i, 1); compute(); });
    item.appendChild(undo);
    return item;
  });
  if (items.length) {
    const item = document.createElement('li'), save = document.createElement('button');
    save.textContent = 'save the changed network';
    save.addEventListener('click', save_network);
    item.appendChild(save);
    items.push(item);
  }
  at('changes').replaceChildren(...items);
}

async function save_network() {
  const answer = await library.ask(question('network')).catch(() => null);
  if (!answer) return;
  if (answer.error) return say(answer.error, true);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([answer.text], {type: 'application/json'}));
  link.download = 'network.json';
  link.click();
  URL.revokeObjectURL(link.href);
}

// Begins with another network.
function take(network) {
  asked.network = network;
  asked.changes = [];
  compute();
}

function change(kind) {
  const made = {kind, from: at('from').value, to: at('to').value};
  if (kind !== 'cut') made.rate = at('rate').value;
  if (kind === 'cable') made.latency = at('latency').value;
  asked.changes.push(made);
  compute();
}

function show_picked() {
  const picked = [at('from').value, at('to').value];
  drawing.dots.forEach((dot, i) => dot.classList.toggle('picked', picked.includes(names()[i])));
}

// Lets the reader take hold of cables and nodes.
function hold_drawing() {
  const all = names();
  for (const [id, fallback] of [['from', all[0]], ['to', all[1] || all[0]]]) {
    if (!all.includes(at(id).value)) at(id).replaceChildren();
    fill(at(id), all.map(name => [name, name]));
    if (!at(id).value) at(id).value = fallback;
  }
  if (at('from').value === at('to').value && all.length > 1) at('to').value = all[1];
  const grips = element('g', {}, at('network'));
  drawing.links.after(grips);
  drawing.paths.forEach((path, i) => {
    const grip = element('path', {class: 'grip', d: path.getAttribute('d')}, grips);
    grip.appendChild(path.firstChild.cloneNode(true));
    grip.addEventListener('click', () => {
      const [src, dst, rate, latency] = page.network.links[i];
      Object.assign(at('from'), {value: all[src]});
      Object.assign(at('to'), {value: all[dst]});
      Object.assign(at('rate'), {value: rate});
      Object.assign(at('latency'), {value: latency});
      show_picked();
    });
  });
  drawing.dots.forEach((dot, i) => dot.addEventListener('click', () => {
    at('from').value = at('to').value;
    at('to').value = all[i];
    show_picked();
  }));
  show_picked();
}

at('ask').addEventListener('submit', event => {
  event.preventDefault();
  const network = at('spec').value;
  // The same network under another question keeps its changes.
  if (network === asked.network) compute(); else take(network);
});
at('use-file').addEventListener('click', () => take(at('file').value));
for (const id of ['from', 'to']) at(id).addEventListener('change', show_picked);
for (const button of document.querySelectorAll('#cable button')) {
  button.addEventListener('click', () => change(button.dataset.kind));
}
at('cable').addEventListener('submit', event => event.preventDefault());
at('collective').addEventListener('change', compute);
take(at('spec').value);
