// What is shown of which schedule, the chart and the table. All of it is about `page`, which open_page() sets.

let page = null, drawing = null, chart = null;
const at = id => document.getElementById(id);
const colour = name => page.colours[name];

// One colour and dash an algorithm, whatever else is drawn.
const style_of = name => page.styles[name.split('?')[0]] || ['#666666', [4, 4]];

function in_units(value, units) {
  for (const [factor, unit] of units) {
    if (value >= factor) return `${Number((value / factor).toPrecision(4))} ${unit}`;
  }
  return `${value} ${units[units.length - 1][1]}`;
}
const seconds = s => s === 0 ? '0 s' : in_units(s, [[1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns']]);
const bytes = b => in_units(b, [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']]);

// The transfers of a schedule, taken apart once.
function transfers_of(schedule) {
  if (schedule.list || !schedule.transfers) return schedule.list || [];
  const flat = schedule.transfers, list = [];
  for (let i = 0; i < flat.length;) {
    const [step, reduces, chunk, src, dst, count] = flat.slice(i, i + 6);
    list.push({step, reduces: reduces === 1, chunk, src, dst, links: flat.slice(i + 6, i + 6 + count)});
    i += 6 + count;
  }
  return schedule.list = list;
}

// "rank 5", and its name where the network has names.
function rank_words(rank) {
  const node = page.network.nodes.find(n => n[2] === rank);
  return node && node[4] ? `rank ${rank} (${node[3]})` : `rank ${rank}`;
}

const look_of = (reduces, number) =>
  ({colour: colour(reduces ? 'reduce' : 'copy'), width: 0.07, dash: reduces ? '0.16 0.07' : undefined, number});

// Each mode gives the looks of links, the marks of nodes, a legend and a sentence.
const MODES = {
  load(schedule) {
    const most = Math.max(...schedule.busy, page.bound.seconds) || 1;
    const looks = new Map(schedule.busy.map((b, i) => [i, {colour: shade(b / most), width: 0.02 + 0.05 * b / most}]));
    const busiest = Math.max(0, ...schedule.busy), used = schedule.busy.filter(b => b > 0).length;
    const over = page.bound.seconds > 0 ? `, ${(busiest / page.bound.seconds).toFixed(3)} times what the bound asks for` : '';
    return {looks, marks: new Map(), legend: 'load',
      told: `${used} of ${schedule.busy.length} links carry data. The busiest is busy for ${seconds(busiest)}${over}; ` +
            `the whole takes ${seconds(schedule.seconds)} with ${bytes(page.bytes)}.`};
  },
  step(schedule) {
    const step = Number(at('step').value), looks = new Map(), marks = new Map();
    const now = transfers_of(schedule).filter(t => t.step === step);
    for (const t of now) for (const l of t.links) looks.set(l, look_of(t.reduces));
    const chunks = new Set(now.map(t => t.chunk)).size;
    return {looks, marks, legend: 'ops',
      told: `Step ${step + 1} of ${schedule.steps}: ${now.length} messages of ${chunks} chunks over ${looks.size} of ` +
            `${page.network.links.length} links.`};
  },
  tree(schedule) {
    const tree = Number(at('tree').value), looks = new Map(), marks = new Map();
    const chunk = schedule.chunks.findIndex(c => c[2] === tree);
    const [source, target] = schedule.chunks[chunk];
    const mine = transfers_of(schedule).filter(t => t.chunk === chunk);
    for (const t of mine) for (const l of t.links) looks.set(l, look_of(t.reduces, t.step + 1));
    const node = rank => page.network.nodes.findIndex(n => n[2] === rank);
    marks.set(node(source), colour('far')).set(node(target), colour('far'));
    return {looks, marks, legend: 'ops',
      told: `Tree ${tree}, rooted at ${rank_words(source)}: ${mine.length} messages. Numbers are the steps at which its first chunk passes.`};
  },
  cut() {
    const cut = page.bound.cuts[Number(at('cut').value)], looks = new Map(), marks = new Map();
    if (!cut) return {looks, marks, told: 'Nothing has to move here.'};
    const far = new Set(cut.far);
    far.forEach(n => marks.set(n, colour('far')));
    let links = 0;
    page.network.links.forEach(([src, dst], i) => {
      const enters = far.has(dst) && !far.has(src), leaves = far.has(src) && !far.has(dst);
      if (enters && cut.gather !== '0' || leaves && cut.reduce !== '0') {
        looks.set(i, look_of(leaves));
        ++links;
      }
    });
    const ranks = cut.far.filter(n => page.network.nodes[n][2] >= 0).length;
    const all = page.bound.all_cuts;
    return {looks, marks, legend: 'cut',
      told: `${all === 1 ? 'This cut proves' : `This and ${all - 1} more cuts prove`} that no schedule takes less than ` +
            `${page.bound.shards} shard times, ${seconds(page.bound.seconds)} with ${bytes(page.bytes)}: what ` +
            `${ranks} rank${ranks === 1 ? '' : 's'} must exchange with the others passes over ${links} links.`};
  }};

const legends = () => ({
  load: [['bar', `linear-gradient(90deg, ${[0, .25, .5, .75, 1].map(shade).join(',')})`, 'idle to busiest']],
  ops: [['dot', colour('reduce'), 'is added to what is there (dashed)'], ['dot', colour('copy'), 'is copied']],
  cut: [['dot', colour('far'), 'one side of the cut'], ['dot', colour('copy'), 'links into it'],
        ['dot', colour('reduce'), 'links out of it']]});

function show_legend(name) {
  at('legend').replaceChildren(...(legends()[name] || []).flatMap(([kind, background, text]) => {
    const mark = document.createElement('span'), words = document.createElement('span');
    mark.className = kind;
    mark.style.background = background;
    words.textContent = text;
    return [mark, words];
  }));
}

const mode = () => document.querySelector('input[name=mode]:checked').value;
const chosen = () => page.schedules[Number(at('schedule').value)];

function show() {
  const schedule = chosen(), known = mode();
  at('step-control').hidden = known !== 'step';
  at('tree-control').hidden = known !== 'tree';
  at('cut-control').hidden = known !== 'cut' || page.bound.cuts.length < 2;
  at('step-text').textContent = `${Number(at('step').value) + 1} / ${schedule.steps}`;
  const left_out = !schedule.transfers && (known === 'step' || known === 'tree');
  const shown = left_out
    ? {looks: new Map(), marks: new Map(), told: `The ${schedule.transfer_count} messages of this schedule are left out of this page.`}
    : MODES[known](schedule);
  drawing.show(shown.looks, shown.marks);
  show_legend(shown.legend);
  at('told').textContent = shown.told;
}

// What was chosen stays so where there still is such an option.
function fill(select, texts) {
  const before = select.value;
  select.replaceChildren(...texts.map(([value, text]) => new Option(text, value)));
  if (texts.some(([value]) => String(value) === before)) select.value = before;
}

function choose_schedule() {
  const schedule = chosen();
  at('step').max = Math.max(0, schedule.steps - 1);
  at('step').value = 0;
  const trees = new Map((schedule.chunks || []).map(c => [c[2], c[0]]));
  fill(at('tree'), [...trees].map(([tree, root]) => [tree, `${tree}, root ${root}`]));
  show();
}

let timer = null;
function play() {
  const stop = () => { clearInterval(timer); timer = null; at('play').textContent = 'play'; };
  if (timer) return stop();
  at('play').textContent = 'pause';
  if (Number(at('step').value) >= Number(at('step').max)) at('step').value = 0;
  timer = setInterval(() => {
    if (mode() !== 'step' || Number(at('step').value) >= Number(at('step').max)) return stop();
    at('step').value = Number(at('step').value) + 1;
    show();
  }, 450);
}

function draw_chart() {
  const datasets = page.schedules.map(s => {
    const [line, dash] = style_of(s.algorithm);
    return {label: s.algorithm, data: s.busbw.map(([x, y]) => ({x, y})), borderColor: line, backgroundColor: line,
            borderDash: dash, borderWidth: 2, pointRadius: 2.5};
  });
  const sizes = page.schedules.flatMap(s => s.busbw.map(p => p[0]));
  if (page.bound.seconds > 0 && sizes.length) {
    const busbw = page.bytes * page.bus_factor / page.bound.seconds / 1e9;
    datasets.push({label: 'bound', data: [Math.min(...sizes), Math.max(...sizes)].map(x => ({x, y: busbw})),
                   borderColor: '#444444', borderDash: [9, 5], borderWidth: 1.5, pointRadius: 0});
  }
  const ticks = {callback: value => Number.isInteger(Math.log2(value) / 2) ? bytes(value) : '', maxRotation: 0};
  const axis = text => ({display: true, text});
  if (chart) chart.destroy();
  chart = new Chart(at('chart'), {type: 'line', data: {datasets}, options: {
    animation: false, responsive: true, maintainAspectRatio: false,
    scales: {x: {type: 'logarithmic', title: axis('size'), ticks, afterBuildTicks: a => {
               a.ticks = [...new Set(sizes)].sort((p, q) => p - q).map(value => ({value})); }},
             y: {beginAtZero: true, title: axis('busbw (GB/s)')}},
    plugins: {legend: {position: 'bottom', labels: {boxHeight: 2}},
              tooltip: {callbacks: {title: items => bytes(items[0].parsed.x),
                                    label: i => `${i.dataset.label}: ${i.parsed.y.toPrecision(4)} GB/s`}}}}});
}

function fill_table() {
  const heads = ['schedule', 'steps', 'messages', 'time', 'over the bound', 'busiest link'];
  const rows = page.schedules.map(s => [s.algorithm, s.steps, s.transfer_count, seconds(s.seconds),
    page.bound.seconds > 0 ? (s.seconds / page.bound.seconds).toFixed(3) : '-', seconds(Math.max(0, ...s.busy))]);
  at('table').replaceChildren();
  for (const [cells, kind] of [[heads, 'th'], ...rows.map(r => [r, 'td'])]) {
    const row = at('table').insertRow();
    for (const text of cells) row.appendChild(document.createElement(kind)).textContent = text;
  }
}

// Shows what view::page_data() wrote, in place of what was shown before.
function open_page(data) {
  page = data;
  drawing = new Drawing(at('network'), page.network);
  const {network, bound} = page;
  const switches = network.nodes.length - network.ranks;
  at('title').textContent = `${page.collective}${page.rooted ? ` (root ${page.root})` : ''} on ${network.name}`;
  at('summary').textContent = `${network.ranks} ranks${switches ? `, ${switches} switches` : ''}, ${network.links.length} ` +
    `links. ${bound.is_optimum ? 'The optimum is' : 'No schedule beats'} ${bound.shards} shard times: ` +
    `${seconds(bound.seconds)} with ${bytes(page.bytes)} (${bound.model}).`;
  fill(at('schedule'), page.schedules.map((s, i) => [i, s.algorithm]));
  fill(at('cut'), bound.cuts.map((c, i) => [i, `${i + 1}: ${c.far.length} node${c.far.length === 1 ? '' : 's'}`]));
  const missing = page.schedules.filter(s => !s.transfers).map(s => `${s.algorithm} (${s.transfer_count} messages)`);
  at('left-out').textContent = missing.length ? `Left out, as the page would be too large: the messages of ${missing.join(', ')}.` : '';
  fill_table();
  choose_schedule();
  draw_chart();
  show_timelines();
}
for (const radio of document.querySelectorAll('input[name=mode]')) radio.addEventListener('change', show);
at('schedule').addEventListener('change', choose_schedule);
for (const id of ['tree', 'cut']) at(id).addEventListener('change', show);
at('step').addEventListener('input', show);
at('play').addEventListener('click', play);
