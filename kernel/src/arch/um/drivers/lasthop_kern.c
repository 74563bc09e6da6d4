// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/lasthop: network devices with a link of lasthop between them, inside the kernel.
 *
 * A descriptor is one of two things:
 *
 * - An end of a link after TUNSETIFF: a network device in the caller's network namespace, as a TUN
 *   or TAP device with the same request would be. TUNSETOFFLOAD says what it hands over in whole
 *   segments. It vanishes with its descriptor.
 * - A loop otherwise: the links of a run. LASTHOP_ADD puts an end behind it. A write is an order to
 *   the library, a read takes events from it. Both are of no concern here.
 *
 * The library (crate guest-link) decides what becomes of each packet. It is called with interrupts
 * off, one call at a time. It never sees an skb, and no skb waits in it: a packet that leaves is a
 * new one, as behind a wire.
 */
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/if_tun.h>
#include <linux/miscdevice.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/virtio_net.h>
#include <net/net_namespace.h>
#include "lasthop.h"

#define LASTHOP_ADD _IOW('L', 1, int)

/* The most bytes of one order: a trace of a day is a part of a link's description. */
#define LONGEST_ORDER (256 << 20)
/* The longest packet with its headers. */
#define LONGEST_PACKET (sizeof(struct virtio_net_hdr) + 65535 + ETH_HLEN + 2 * 4)

static const struct lasthop_library *library;

struct end;

struct loop {
	struct lasthop_rust *rust;
	struct hrtimer timer;
	u64 armed;
	wait_queue_head_t readers;
	/* Serializes reads. */
	struct mutex reading;
	const u8 *events;
	u64 length;
	struct end **ends;
	u32 count;
};

struct end {
	struct net_device *dev;
	struct napi_struct napi;
	/* Packets that the stack has not taken yet. */
	struct sk_buff_head received;
	struct loop *loop;
	u32 port;
	bool whole;
	netdev_features_t offloads;
};

/* What a descriptor is. */
struct opened {
	struct end *end;
	struct loop *loop;
};

/* Protects every loop and the library. There is one processor, so it is free. */
static DEFINE_SPINLOCK(lock);
/* Protects what descriptors are. */
static DEFINE_MUTEX(opening);
/* Memory for a packet in one piece. */
static u8 flat[LONGEST_PACKET] __aligned(8);

/* ---- from the library to the stack */

/* Returns 0, or why the packet cannot be received. */
static int deliver(struct end *end, const u8 *bytes, size_t length)
{
	struct net_device *dev = end->dev;
	struct virtio_net_hdr header = {};
	struct sk_buff *skb;
	size_t linear;
	int error;

	if (!netif_running(dev))
		return -ENETDOWN;
	if (end->whole) {
		memcpy(&header, bytes, sizeof(header));
		bytes += sizeof(header);
		length -= sizeof(header);
	}
	linear = min_t(size_t, length, SKB_MAX_HEAD(NET_SKB_PAD + NET_IP_ALIGN));
	skb = alloc_skb_with_frags(NET_SKB_PAD + NET_IP_ALIGN + linear, length - linear,
				   PAGE_ALLOC_COSTLY_ORDER, &error, GFP_ATOMIC);
	if (!skb)
		return error;
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb_put(skb, linear);
	skb->data_len = length - linear;
	skb->len += length - linear;
	skb_store_bits(skb, 0, bytes, length);
	if ((end->whole && virtio_net_hdr_to_skb(skb, &header, true)) ||
	    (dev->type == ARPHRD_ETHER && !pskb_may_pull(skb, ETH_HLEN))) {
		kfree_skb(skb);
		return -EINVAL;
	}
	if (dev->type == ARPHRD_ETHER) {
		skb->protocol = eth_type_trans(skb, dev);
	} else {
		skb->protocol = bytes[0] >> 4 == 6 ? htons(ETH_P_IPV6) : htons(ETH_P_IP);
		skb_reset_mac_header(skb);
		skb->dev = dev;
	}
	skb_reset_network_header(skb);
	skb_probe_transport_header(skb);
	dev->stats.rx_packets++;
	dev->stats.rx_bytes += length;
	__skb_queue_tail(&end->received, skb);
	napi_schedule(&end->napi);
	return 0;
}

static int poll_received(struct napi_struct *napi, int budget)
{
	struct end *end = container_of(napi, struct end, napi);
	struct sk_buff *skb;
	unsigned long flags;
	int done = 0;

	while (done < budget) {
		spin_lock_irqsave(&lock, flags);
		skb = __skb_dequeue(&end->received);
		if (!skb)
			napi_complete_done(napi, done);
		spin_unlock_irqrestore(&lock, flags);
		if (!skb)
			return done;
		netif_receive_skb(skb);
		done++;
	}
	return done;
}

/* Does what the library asks after a call. Returns when the timer is to fire. */
static u64 afterwards(struct loop *loop)
{
	struct lasthop_to_do to_do = library->to_do(loop->rust);
	u64 place, refused = 0;
	int why = 0;

	for (place = 0; place < to_do.outgoing; place++) {
		struct lasthop_leaving its = library->outgoing(loop->rust, place);
		struct end *end = its.port < loop->count ? loop->ends[its.port] : NULL;
		int error = end ? deliver(end, its.bytes, its.length) : -ENODEV;

		if (error) {
			refused++;
			why = -error;
		}
	}
	if (to_do.outgoing)
		library->sent(loop->rust, refused, why);
	if (to_do.readable)
		wake_up_interruptible(&loop->readers);
	return to_do.due;
}

static void arm(struct loop *loop, u64 due)
{
	if (due == loop->armed)
		return;
	loop->armed = due;
	if (due == U64_MAX)
		hrtimer_try_to_cancel(&loop->timer);
	else
		hrtimer_start(&loop->timer, ns_to_ktime(due), HRTIMER_MODE_ABS);
}

static enum hrtimer_restart fire(struct hrtimer *timer)
{
	struct loop *loop = container_of(timer, struct loop, timer);
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	library->turn(loop->rust, ktime_get_ns());
	loop->armed = afterwards(loop);
	spin_unlock_irqrestore(&lock, flags);
	if (loop->armed == U64_MAX)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(timer, ns_to_ktime(loop->armed));
	return HRTIMER_RESTART;
}

/* ---- from the stack to the library */

static netdev_tx_t transmit(struct sk_buff *skb, struct net_device *dev)
{
	struct end *end = netdev_priv(dev);
	size_t before = end->whole ? sizeof(struct virtio_net_hdr) : 0;
	unsigned long flags;

	skb_tx_timestamp(skb);
	spin_lock_irqsave(&lock, flags);
	/* Before the run and after it, nobody takes packets. */
	if (!end->loop)
		goto out;
	if (skb->len > LONGEST_PACKET - sizeof(struct virtio_net_hdr) ||
	    (before && virtio_net_hdr_from_skb(skb, (struct virtio_net_hdr *)flat, true, false, 0)) ||
	    skb_copy_bits(skb, 0, flat + before, skb->len)) {
		/* The run reads this counter: it is overloaded if it lost packets in this way. */
		dev->stats.tx_dropped++;
		goto out;
	}
	dev->stats.tx_packets++;
	dev->stats.tx_bytes += skb->len;
	library->packet(end->loop->rust, end->port, ktime_get_ns(), flat, before + skb->len);
	arm(end->loop, afterwards(end->loop));
out:
	spin_unlock_irqrestore(&lock, flags);
	consume_skb(skb);
	return NETDEV_TX_OK;
}

static netdev_features_t fix_features(struct net_device *dev, netdev_features_t features)
{
	struct end *end = netdev_priv(dev);
	netdev_features_t ours = NETIF_F_HW_CSUM | NETIF_F_TSO | NETIF_F_TSO6;

	return features & (~ours | end->offloads);
}

static int open_device(struct net_device *dev)
{
	struct end *end = netdev_priv(dev);

	napi_enable(&end->napi);
	netif_start_queue(dev);
	return 0;
}

static int stop_device(struct net_device *dev)
{
	struct end *end = netdev_priv(dev);
	unsigned long flags;

	netif_stop_queue(dev);
	napi_disable(&end->napi);
	spin_lock_irqsave(&lock, flags);
	__skb_queue_purge(&end->received);
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static int validate_address(struct net_device *dev)
{
	return dev->type == ARPHRD_ETHER ? eth_validate_addr(dev) : 0;
}

static const struct net_device_ops operations = {
	.ndo_open = open_device,
	.ndo_stop = stop_device,
	.ndo_start_xmit = transmit,
	.ndo_fix_features = fix_features,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = validate_address,
};

static void set_up_common(struct net_device *dev)
{
	dev->netdev_ops = &operations;
	dev->min_mtu = 68;
	dev->max_mtu = 65535;
	dev->priv_flags |= IFF_NO_QUEUE | IFF_LIVE_ADDR_CHANGE;
	dev->lltx = true;
	dev->features = NETIF_F_SG | NETIF_F_FRAGLIST;
	dev->hw_features = dev->features | NETIF_F_HW_CSUM | NETIF_F_TSO | NETIF_F_TSO6;
	netif_set_tso_max_size(dev, 65536);
}

static void set_up_ip(struct net_device *dev)
{
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_POINTOPOINT | IFF_NOARP | IFF_MULTICAST;
	dev->mtu = 1500;
	set_up_common(dev);
}

static void set_up_ethernet(struct net_device *dev)
{
	ether_setup(dev);
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	eth_hw_addr_random(dev);
	set_up_common(dev);
}

/* ---- descriptors */

static long make_end(struct opened *opened, void __user *argument)
{
	struct net_device *dev;
	struct ifreq request;
	struct end *end;
	int error;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	request.ifr_name[IFNAMSIZ - 1] = '\0';
	if (opened->end || opened->loop)
		return -EINVAL;
	/* As for a TUN device. */
	if (!ns_capable(current->nsproxy->net_ns->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	dev = alloc_netdev(sizeof(*end), request.ifr_name, NET_NAME_USER,
			   request.ifr_flags & IFF_TAP ? set_up_ethernet : set_up_ip);
	if (!dev)
		return -ENOMEM;
	dev_net_set(dev, current->nsproxy->net_ns);
	end = netdev_priv(dev);
	end->dev = dev;
	end->whole = request.ifr_flags & IFF_VNET_HDR;
	skb_queue_head_init(&end->received);
	netif_napi_add(dev, &end->napi, poll_received);
	error = register_netdev(dev);
	if (error) {
		free_netdev(dev);
		/* What TUNSETIFF says of a name that is taken. */
		return error == -EEXIST ? -EBUSY : error;
	}
	netif_carrier_on(dev);
	opened->end = end;
	return 0;
}

static long set_offloads(struct end *end, unsigned long offloads)
{
	netdev_features_t features = 0;

	if (offloads & TUN_F_CSUM) {
		features |= NETIF_F_HW_CSUM;
		if (offloads & TUN_F_TSO4)
			features |= NETIF_F_TSO;
		if (offloads & TUN_F_TSO6)
			features |= NETIF_F_TSO6;
	}
	rtnl_lock();
	end->offloads = features;
	end->dev->wanted_features |= features;
	netdev_update_features(end->dev);
	rtnl_unlock();
	return 0;
}

static const struct file_operations files;

static int make_loop(struct opened *opened)
{
	struct loop *loop;
	unsigned long flags;

	if (opened->end)
		return -EINVAL;
	if (opened->loop)
		return 0;
	loop = kzalloc(sizeof(*loop), GFP_KERNEL);
	if (!loop)
		return -ENOMEM;
	spin_lock_irqsave(&lock, flags);
	loop->rust = library->new();
	spin_unlock_irqrestore(&lock, flags);
	loop->armed = U64_MAX;
	hrtimer_setup(&loop->timer, fire, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	init_waitqueue_head(&loop->readers);
	mutex_init(&loop->reading);
	opened->loop = loop;
	return 0;
}

static long add_end(struct loop *loop, int descriptor)
{
	struct opened *other;
	struct end **ends, **former;
	struct fd its = fdget(descriptor);
	unsigned long flags;
	long port = -EINVAL;

	if (fd_empty(its))
		return -EBADF;
	if (fd_file(its)->f_op != &files)
		goto out;
	other = fd_file(its)->private_data;
	if (!other->end || other->end->loop)
		goto out;
	port = -ENOMEM;
	ends = kmalloc_array(loop->count + 1, sizeof(*ends), GFP_KERNEL);
	if (!ends)
		goto out;
	spin_lock_irqsave(&lock, flags);
	/* The timer uses the former array until here. */
	former = loop->ends;
	memcpy(ends, former, loop->count * sizeof(*ends));
	loop->ends = ends;
	port = loop->count++;
	ends[port] = other->end;
	other->end->port = port;
	other->end->loop = loop;
	spin_unlock_irqrestore(&lock, flags);
	kfree(former);
out:
	fdput(its);
	return port;
}

static long control(struct file *file, unsigned int request, unsigned long argument)
{
	struct opened *opened = file->private_data;
	long done;

	mutex_lock(&opening);
	switch (request) {
	case TUNSETIFF:
		done = make_end(opened, (void __user *)argument);
		break;
	case TUNSETOFFLOAD:
		done = opened->end ? set_offloads(opened->end, argument) : -EINVAL;
		break;
	case LASTHOP_ADD:
		done = make_loop(opened);
		if (!done)
			done = add_end(opened->loop, argument);
		break;
	default:
		done = -ENOTTY;
	}
	mutex_unlock(&opening);
	return done;
}

static ssize_t write_order(struct file *file, const char __user *bytes, size_t length, loff_t *at)
{
	struct opened *opened = file->private_data;
	struct loop *loop;
	unsigned long flags;
	void *order;
	int error;

	if (length > LONGEST_ORDER)
		return -EMSGSIZE;
	mutex_lock(&opening);
	error = make_loop(opened);
	mutex_unlock(&opening);
	if (error)
		return error;
	loop = opened->loop;
	order = kvmalloc(length, GFP_KERNEL);
	if (!order)
		return -ENOMEM;
	if (copy_from_user(order, bytes, length)) {
		kvfree(order);
		return -EFAULT;
	}
	spin_lock_irqsave(&lock, flags);
	library->order(loop->rust, ktime_get_ns(), order, length);
	arm(loop, afterwards(loop));
	spin_unlock_irqrestore(&lock, flags);
	kvfree(order);
	return length;
}

/* Never waits: a process learns from poll() when there is something to read. */
static ssize_t read_events(struct file *file, char __user *bytes, size_t length, loff_t *at)
{
	struct opened *opened = file->private_data;
	struct loop *loop = opened->loop;
	unsigned long long count;
	unsigned long flags;

	if (!loop)
		return -EINVAL;
	mutex_lock(&loop->reading);
	if (!loop->length) {
		spin_lock_irqsave(&lock, flags);
		loop->events = library->events(loop->rust, &count);
		loop->length = count;
		spin_unlock_irqrestore(&lock, flags);
	}
	length = min_t(size_t, length, loop->length);
	if (copy_to_user(bytes, loop->events, length)) {
		mutex_unlock(&loop->reading);
		return -EFAULT;
	}
	loop->events += length;
	loop->length -= length;
	mutex_unlock(&loop->reading);
	return length;
}

static __poll_t poll_events(struct file *file, struct poll_table_struct *table)
{
	struct opened *opened = file->private_data;
	struct loop *loop = opened->loop;
	unsigned long flags;
	__poll_t ready = EPOLLOUT | EPOLLWRNORM;

	if (!loop)
		return ready;
	poll_wait(file, &loop->readers, table);
	spin_lock_irqsave(&lock, flags);
	if (loop->length || library->to_do(loop->rust).readable)
		ready |= EPOLLIN | EPOLLRDNORM;
	spin_unlock_irqrestore(&lock, flags);
	return ready;
}

static int open_file(struct inode *inode, struct file *file)
{
	file->private_data = kzalloc(sizeof(struct opened), GFP_KERNEL);
	return file->private_data ? 0 : -ENOMEM;
}

static void remove_end(struct end *end)
{
	struct net_device *dev = end->dev;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	if (end->loop)
		end->loop->ends[end->port] = NULL;
	end->loop = NULL;
	spin_unlock_irqrestore(&lock, flags);
	unregister_netdev(dev);
	free_netdev(dev);
}

static void remove_loop(struct loop *loop)
{
	unsigned long flags;
	u32 port;

	spin_lock_irqsave(&lock, flags);
	for (port = 0; port < loop->count; port++)
		if (loop->ends[port])
			loop->ends[port]->loop = NULL;
	spin_unlock_irqrestore(&lock, flags);
	hrtimer_cancel(&loop->timer);
	spin_lock_irqsave(&lock, flags);
	library->free(loop->rust);
	spin_unlock_irqrestore(&lock, flags);
	kfree(loop->ends);
	kfree(loop);
}

static int close_file(struct inode *inode, struct file *file)
{
	struct opened *opened = file->private_data;

	mutex_lock(&opening);
	if (opened->end)
		remove_end(opened->end);
	if (opened->loop)
		remove_loop(opened->loop);
	mutex_unlock(&opening);
	kfree(opened);
	return 0;
}

static const struct file_operations files = {
	.owner = THIS_MODULE,
	.open = open_file,
	.release = close_file,
	.unlocked_ioctl = control,
	.write = write_order,
	.read = read_events,
	.poll = poll_events,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "lasthop",
	.mode = 0666,
	.fops = &files,
};

static int __init lasthop_init(void)
{
	library = lasthop_library();
	return library ? misc_register(&device) : 0;
}
late_initcall(lasthop_init);
