import { expect, test } from 'vitest';
import { Failure } from '../../api/failure';
import { imported, located, MOST } from './hosts';

const wrong = (text: string) => imported(text).wrong.map(({ kind, line }) => `${kind}:${line}`);

test('CSV as the command line takes it', () => {
  const found = imported('\uFEFFaddress, Name,mac\r\n10.1.0.7,printer,02:00:5e:00:00:07\r\n\r\n10.1.0.9,nas\r\n');
  expect(found).toEqual({
    hosts: [
      { name: 'printer', address: '10.1.0.7', mac: '02:00:5e:00:00:07' },
      { name: 'nas', address: '10.1.0.9' },
    ],
    lines: [2, 4],
    wrong: [],
  });
});

test.each([
  ['name;address\nprinter;10.1.0.7'],
  ['name\taddress\nprinter\t10.1.0.7'],
  ['name,address\n"printer","10.1.0.7"'],
])('values of a table in other forms: %j', (text) => {
  expect(imported(text).hosts).toEqual([{ name: 'printer', address: '10.1.0.7' }]);
});

test('a quoted value is one value', () => {
  expect(imported('name,address\n"a, ""b""",10.1.0.7').hosts).toEqual([{ name: 'a, "b"', address: '10.1.0.7' }]);
});

test('what is wrong has its line', () => {
  expect(wrong('')).toEqual(['empty:1']);
  expect(wrong(' \n')).toEqual(['empty:1']);
  expect(wrong('address,name\n')).toEqual(['empty:1']);
  expect(wrong('10.1.0.7,printer')).toEqual(['columns:1']);
  expect(wrong('\nname,mac\nprinter,x')).toEqual(['columns:2']);
  expect(wrong('name,name,address\na,b,10.1.0.7')).toEqual(['columns:1']);
  expect(wrong('address,name\n10.1.0.7\n10.1.0.8,a,b,c\n10.1.0.9,nas')).toEqual(['values:2', 'values:3']);
});

test('no more than the API takes', () => {
  const lines = (count: number) => 'address,name\n' + '10.1.0.7,printer\n'.repeat(count);
  expect(wrong(lines(MOST))).toEqual([]);
  expect(wrong(lines(MOST + 1))).toEqual(['many:1']);
});

test('hosts of ISC dhcpd', () => {
  const text = `subnet 10.1.0.0 netmask 255.255.255.0 { range 10.1.0.100 10.1.0.200; }
# host old { fixed-address 10.1.0.3; }
host Printer {
  hardware ethernet 02:00:5E:00:00:07;
  fixed-address 10.1.0.7;
}
host "nas" { fixed-address 10.1.0.9; }
`;
  expect(imported(text)).toEqual({
    hosts: [
      { name: 'printer', address: '10.1.0.7', mac: '02:00:5E:00:00:07' },
      { name: 'nas', address: '10.1.0.9' },
    ],
    lines: [3, 7],
    wrong: [],
  });
  expect(wrong('host a { }\n\nhost b { fixed-address 10.1.0.7, 10.1.0.9; }')).toEqual(['block:1', 'block:3']);
});

test('a refusal names the line of each host', () => {
  const errors = [
    { field: 'hosts.1.address', message: 'it is leased' },
    { field: 'hosts.9.name', message: 'beyond' },
    { field: 'endpoint', message: 'no' },
  ];
  const found = located(new Failure(409, 'none was', errors), [2, 4]);
  expect(found.errors.map((one) => one.line)).toEqual([4, undefined, undefined]);
  expect([found.status, found.message]).toEqual([409, 'none was']);
});
