package packet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The ring's blocks hold packets of any length. The kernel hands one over when it is full, or blockWait
// milliseconds after its first packet.
const (
	blockSize = 256 << 10
	blockWait = 20
)

// snap is how much of a packet is taken: all headers but absurd ones. The kernel cuts the rest off.
const snap = 256

// ring is an interface as a sequence of packets.
type ring struct {
	file   *os.File // the socket
	conn   syscall.RawConn
	memory []byte
	blocks int
	at     int  // the block in hand or awaited
	held   bool // it is in hand
	block  block
	link   LinkType
	loops  bool   // every packet goes out and comes in
	idle   func() // called before a wait
	gone   error  // the interface went away
	lost   atomic.Uint64
}

// openRing makes the ring of an interface, and receives from now on.
func openRing(l LiveOptions) (*ring, error) {
	i, err := net.InterfaceByName(l.Interface)
	switch {
	case err != nil:
		return nil, fmt.Errorf("there is no such interface; it is waited for (%w)", err)
	case i.Flags&net.FlagUp == 0:
		return nil, errors.New("the interface is down; it is waited for")
	}
	// Protocol 0 receives nothing: packets come from bind on, when all is set.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EAFNOSUPPORT) {
		return nil, fmt.Errorf("edgeguard may not listen to interfaces: give the service CAP_NET_RAW and AF_PACKET (edgeguard snippets packet): %w", err)
	} else if err != nil {
		return nil, err
	}
	s := &ring{file: os.NewFile(uintptr(fd), l.Interface), blocks: max(l.Memory/blockSize, 2), loops: i.Flags&net.FlagLoopback != 0, idle: func() {}}
	if err = s.set(fd, l, i.Index); err == nil {
		s.conn, err = s.file.SyscallConn()
	}
	if err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// set sets the socket, and binds it at last.
func (s *ring) set(fd int, l LiveOptions, index int) (err error) {
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, cutOff(s.loops)); err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return fmt.Errorf("TPACKET_V3: %w", err)
	}
	const frame = 2048 // says nothing, but must divide the rest
	request := unix.TpacketReq3{Block_size: blockSize, Block_nr: uint32(s.blocks), Frame_size: frame,
		Frame_nr: uint32(s.blocks * blockSize / frame), Retire_blk_tov: blockWait}
	if err := unix.SetsockoptTpacketReq3(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request); err != nil {
		return fmt.Errorf("a ring of %d bytes: %w", s.blocks*blockSize, err)
	}
	if s.memory, err = unix.Mmap(fd, 0, s.blocks*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("map the ring: %w", err)
	}
	if l.Promiscuous {
		all := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
		if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &all); err != nil {
			return fmt.Errorf("promiscuous: %w", err)
		}
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}), Ifindex: index}); err != nil {
		return err
	}
	return s.identify(fd)
}

// identify says how the interface's packets begin.
func (s *ring) identify(fd int) error {
	at, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	bound, _ := at.(*unix.SockaddrLinklayer)
	switch bound.Hatype {
	case unix.ARPHRD_ETHER, unix.ARPHRD_LOOPBACK:
		s.link = linkEthernet
	case unix.ARPHRD_NONE, unix.ARPHRD_TUNNEL, unix.ARPHRD_TUNNEL6, unix.ARPHRD_SIT: // WireGuard, tun and tunnels of IP
		s.link = linkRaw
	default:
		return fmt.Errorf("the interface's packets are not read (hardware type %d): Ethernet and tunnels of IP are", bound.Hatype)
	}
	return nil
}

// cutOff is the filter that takes the beginning of each packet. A loopback shows each twice, and what
// goes out is left out.
func cutOff(loops bool) *unix.SockFprog {
	program := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: snap}}
	if loops {
		const packetType = 1<<32 - 0x1000 + 4 // SKF_AD_OFF + SKF_AD_PKTTYPE
		program = append([]unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: packetType},
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: outgoing},
			{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		}, program...)
	}
	return &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
}

// next implements records.
func (s *ring) next(r *record) error {
	for s.block.left == 0 {
		if err := s.turn(); err != nil {
			return err
		}
	}
	if err := s.block.take(r); err != nil {
		return err
	}
	if r.link = s.link; s.loops {
		r.way = wayUnknown
	}
	return nil
}

// status is that of the block at hand, which the kernel and this program hand to each other by it.
func (s *ring) status() *uint32 {
	return (*uint32)(unsafe.Pointer(&s.memory[s.at*blockSize+blockStatus]))
}

func (s *ring) filled() bool { return atomic.LoadUint32(s.status())&unix.TP_STATUS_USER != 0 }

// turn gives the block in hand back, and waits for the next.
func (s *ring) turn() error {
	if s.held {
		atomic.StoreUint32(s.status(), unix.TP_STATUS_KERNEL)
		s.at = (s.at + 1) % s.blocks
		s.held = false
	}
	if !s.filled() {
		s.idle()
		if err := s.await(); err != nil {
			return err
		}
	}
	s.held = true
	s.block = openBlock(s.memory[s.at*blockSize : (s.at+1)*blockSize])
	return nil
}

// await waits for a filled block. The runtime's poller waits, which takes no thread. When the interface has
// gone, the kernel still hands over the block that it was filling.
func (s *ring) await() error {
	err := s.conn.Read(func(fd uintptr) bool {
		if s.filled() {
			return true
		}
		if number, _ := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR); number != 0 {
			s.gone = fmt.Errorf("the interface went away; it is waited for (%w)", syscall.Errno(number))
			_ = s.file.SetReadDeadline(time.Now().Add(2 * blockWait * time.Millisecond))
		}
		return false
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrClosed):
		return io.EOF
	case s.gone != nil:
		return s.gone
	}
	return err
}

// dropped returns how many packets found the ring full. The kernel's own count begins again each
// time that it is read.
func (s *ring) dropped() uint64 {
	if s.conn == nil { // it was never set
		return 0
	}
	_ = s.conn.Control(func(fd uintptr) {
		if st, err := unix.GetsockoptTpacketStatsV3(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			s.lost.Add(uint64(st.Drops))
		}
	})
	return s.lost.Load()
}

// end closes the socket, which ends a wait. What was dropped is known.
func (s *ring) end() {
	s.dropped()
	_ = s.file.Close()
}

// release gives the ring's memory back. Nobody takes packets any more.
func (s *ring) release() {
	s.end()
	if s.memory != nil {
		_ = unix.Munmap(s.memory)
	}
}
